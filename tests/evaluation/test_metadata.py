"""Rows say where they come from."""

import json

from bench_makers import FLAT, METRO

from metro.evaluation.context import EvalContext
from metro.evaluation.metadata import row_metadata
from metro.evaluation.run import as_query_set, evaluate
from metro.models.loading import load_model


def test_rows_say_whether_the_model_has_seen_the_recordings(context, queries, tmp_path):
    """Ours were trained on others; a model of this very file says so."""
    (row,) = evaluate(context, FLAT, queries[:1], tmp_path / "a.jsonl")
    assert row["trained_on_corpus"] is False
    seen = {"corpus": {"digest": context.corpus.digest}}
    for notes, told in ((seen, True), ({}, None)):
        model = load_model("lewm-small-tworoom")
        model.notes = notes
        opened = EvalContext(context.benchmark, context.corpus, model)
        assert (
            row_metadata(opened, as_query_set(queries), FLAT)["trained_on_corpus"]
            is told
        )


def test_rows_say_where_they_come_from(context, queries, tmp_path):
    """Digests, versions, renderer, times: enough to ask the same again."""
    row = evaluate(context, METRO, queries[:1], tmp_path / "a.jsonl")[0]
    assert row["model"]["digest"] == context.model.digest
    assert row["corpus"]["digest"] == context.corpus.digest
    assert row["graph"] == context.graph.latents.digest
    assert row["graph_options"] == {"num_neighbours": 4, "quantile": 0.25}
    assert row["versions"]["stable-worldmodel"] == "0.1.1"
    assert set(row["seconds"]) == {"draw", "encode", "search", "entry", "plan", "step"}
    assert json.loads((tmp_path / "a.jsonl").read_text()) == row

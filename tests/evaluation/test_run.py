"""Evaluation runs: resumable, refused before anything is planned, and as a verb."""

import json
import re

import pytest
from bench_makers import FLAT, outcomes
from typer.testing import CliRunner

from metro.cli import app
from metro.errors import BenchmarkError, MetroError
from metro.evaluation.queries import (
    Query,
    load_queries,
    save_queries,
)
from metro.evaluation.records import read_records
from metro.evaluation.run import evaluate


def test_goes_on_after_a_kill(context, queries, tmp_path):
    """Rows that are there are not planned again; half a line is forgotten."""
    whole = evaluate(context, FLAT, queries, tmp_path / "a.jsonl", batch=2)
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join([*lines[:3], lines[3][:40]]))
    assert len(read_records(cut)) == 3
    told = []
    again = evaluate(
        context, FLAT, queries, cut, progress=lambda *counts: told.append(counts)
    )
    assert outcomes(again) == outcomes(whole)
    assert [counts[:2] for counts in told] == [(3, 4), (4, 4)]
    assert len(read_records(cut)) == 4


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--graph", "LATENTS"], "holds latents, not a graph. Make one: metro build"),
        (["--method", "flat", "--macro-steps", "2"], "macro_steps belongs to hi-lewm"),
        (["--method", "hi-lewm-c-staged", "--macro-steps", "4"], "has 2 stages: leave"),
        (["--graph", "GRAPH", "--waypoint-budget", "900"], "below the longest episode"),
        (["--planner-seed", "-1"], "greater than or equal to 0"),
        (["--method", "flat", "-o", "CSV/rows.jsonl"], "rows.jsonl cannot be written"),
    ],
)
def test_bad_options_are_one_line(source, query_file, tmp_path, given, told):
    """Said before anything is planned."""
    graph = str(source.graph)
    names = {"LATENTS": graph.replace(".metro", ".latents"), "GRAPH": graph}
    names["CSV/rows.jsonl"] = f"{query_file}/rows.jsonl"
    command = ["evaluate", "tworoom", "--corpus", source.corpus, "--model"]
    command += [source.model, "-o", str(tmp_path / "a.jsonl"), "--goal-distance", "15"]
    command += ["--queries", str(query_file), *(names.get(one, one) for one in given)]
    ran = CliRunner().invoke(app, command)
    assert ran.exit_code != 0
    said = " ".join((str(ran.exception) + ran.output).replace("│", " ").split())
    assert told in said
    assert isinstance(ran.exception, MetroError | SystemExit)


def test_queries_of_another_corpus(context, tmp_path):
    """The first one that does not exist, and what there is."""
    told = (
        f"{context.corpus.name} has no query 99,0,5: 12 episodes, 0 frames in that "
        f"one. Record the corpus that the queries are from."
    )
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        evaluate(context, FLAT, [Query(99, 0, 5)], tmp_path / "a.jsonl")


def test_the_verb(context, queries, tmp_path):
    """The same rows, and one sentence."""
    save_queries(queries[:2], tmp_path / "q.csv")
    command = ["evaluate", "tworoom", "--corpus", context.corpus.name, "--model"]
    command += ["lewm-small-tworoom", "--method", "flat", "--plan-blocks", "2"]
    command += ["--queries", str(tmp_path / "q.csv"), "--step-budget", "20"]
    command += ["--goal-distance", "15"]
    command += ["-o", str(tmp_path / "rows.jsonl")]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    rows = evaluate(context, FLAT, queries[:2], tmp_path / "b.jsonl")
    assert outcomes(read_records(tmp_path / "rows.jsonl")) == outcomes(rows)
    solved = sum(row["frames_to_success"] is not None for row in rows)
    assert shown.output.startswith(
        f"tworoom, flat, h = 2, T = 20: {solved} of 2 queries solved"
    )
    told = CliRunner().invoke(app, [*command, "--json"])
    assert json.loads(told.output)["solved"] == solved


def test_a_sweep(source, query_file, tmp_path):
    """A grid of h and H, success read off at smaller budgets, the best marked."""
    command = ["sweep", "tworoom", "--corpus", source.corpus, "--model", source.model]
    command += ["--graph", str(source.graph), "--queries", str(query_file)]
    command += ["--goal-distance", "15", "--plan-blocks", "1", "--planner-seed", "7"]
    command += ["--waypoint-budget", "6,8", "-o", str(tmp_path / "rows.jsonl")]
    shown = CliRunner().invoke(app, [*command, "--json"])
    assert shown.exit_code == 0, shown.output
    cells = json.loads(shown.output)
    assert {(c["waypoint_budget"], c["step_budget"]) for c in cells} == {
        (budget, steps) for budget in (6, 8) for steps in (15, 18, 30, 60)
    }
    assert any(cell["is_best"] for cell in cells)
    assert len(read_records(tmp_path / "rows.jsonl")) == 8
    table = CliRunner().invoke(app, command)
    assert "success" in table.output


def test_a_query_file_of_another_corpus(source, query_file, tmp_path):
    """The digests, and what to do."""
    text = query_file.read_text().replace("# corpus ", "# corpus 0")
    (tmp_path / "q.csv").write_text(text)
    asked = load_queries(tmp_path / "q.csv")
    with pytest.raises(BenchmarkError, match=r"^q\.csv has queries of corpus 0"):
        evaluate(source, [FLAT], asked, tmp_path / "a.jsonl")

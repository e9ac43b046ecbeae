"""Two versions of a model planned in the real TwoRoom."""

import json

import pytest
import torch

from metro.errors import ModelError
from metro.evaluation.records import read_records
from metro.models.loading import load_model
from metro.models.weights import save_model
from metro.studies.micro_planner.run_micro_planner import require_same_encoder
from study_makers import MODEL, planning, study


@pytest.fixture(scope="module")
def tuned(folder):
    """The shipped model with another predictor."""
    model = load_model(MODEL)
    with torch.no_grad():
        for weight in model.network.predictor.parameters():
            weight.mul_(1.01)
    model.notes["name"] = "tuned"
    save_model(model, folder / "tuned.safetensors")
    return folder / "tuned.safetensors"


def test_two_models_share_a_graph(folder, tuned, tmp_path):
    """Rows of three methods and both models; the encoder is the same."""
    output = tmp_path / "micro-planner.jsonl"
    options = [*planning(folder), "--fine-tuned", tuned, "--first", 2]
    shown = study("micro-planner", folder, output, *options)
    assert shown.exit_code == 0, shown.output
    rows = read_records(output)
    told = [(row["role"], row["setting"]["method"]) for row in rows]
    assert sorted(set(told)) == sorted(
        (role, method)
        for role in ("base", "fine-tuned")
        for method in ("flat", "metro", "oracle")
    )
    assert len(rows) == 12
    assert len({row["base"] for row in rows}) == 1
    again = study("micro-planner", folder, output, *options)
    assert (again.output, len(read_records(output))) == (shown.output, 12)
    rows = [row | {"base": "another"} for row in rows]
    output.write_text("".join(json.dumps(row) + "\n" for row in rows))
    failed = study("micro-planner", folder, output, *options)
    assert "has rows of lewm-small-tworoom in another role" in str(failed.exception)


def test_other_encoders_need_their_own_graph(folder, tuned, tmp_path):
    """And a model is not its own fine-tuned version."""
    base, other = load_model(MODEL), load_model("pldm-small-tworoom")
    require_same_encoder(base, load_model(tuned))
    with pytest.raises(ModelError, match="has another encoder than lewm-small-tworoom"):
        require_same_encoder(base, other)
    options = [*planning(folder), "--fine-tuned", MODEL]
    failed = study("micro-planner", folder, tmp_path / "rows.jsonl", *options)
    assert str(failed.exception).startswith("--model and --fine-tuned are the same")
    options = [*planning(folder), "--fine-tuned", tuned, "--method", "replay"]
    failed = study("micro-planner", folder, tmp_path / "rows.jsonl", *options)
    assert str(failed.exception) == (
        "The study compares flat, metro, oracle, got 'replay'."
    )

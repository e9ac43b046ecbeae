"""The offline cost: measured once, and its section."""

import json
import shutil

import pytest

from metro.assets import asset_path
from metro.errors import ModelError
from metro.evaluation.records import read_records
from metro.models.loading import load_model
from metro.studies import offline_cost
from metro.studies.offline_cost import training_cost
from study_makers import MADE, MODEL, refused, study, table_of


def cost_row(**changed):
    return {
        "study": "offline-cost",
        **MADE,
        "frames": 183_387,
        "macro": {
            **{"name": "macro", "digest": "d", "steps": 1836},
            **{"minutes": 9.0, "cpu_minutes": 8.0},
        },
        "setting": {"waypoint_budget": 8, "threads": 1, "sampled_episodes": 20},
        "seconds": {"encode": 60.0, "table": 30.0, "graph": 6.0, "cpu": 48.0},
        "load": [1.0, 2.5],
        "cores": 2,
        "versions": {"commit": "abcdef0123456"},
    } | changed


def test_offline_cost_section():
    """Training over metro, processor time; the paper's ratios run from 13 to 56."""
    section = offline_cost.render([cost_row(), cost_row()])
    (line,) = table_of(section)
    assert (line["total"], line["ratio"], line["load"]) == ("1.60", "10.0", "1.0, 2.5")
    assert (line["CPU"], line["training CPU"]) == ("0.80", "8.0")
    loaded = cost_row(macro=cost_row()["macro"] | {"cpu_minutes": None})
    assert table_of(offline_cost.render([loaded]))[0]["ratio"] == "-"
    ratios = [float(line["ratio"]) for line in table_of(section, 1)]
    assert (min(ratios), max(ratios)) == (13.3, 56.1)
    (alone,) = table_of(offline_cost.render([cost_row(macro=None)]))
    assert (alone["macro model"], alone["ratio"]) == ("not trained", "-")
    twice = [cost_row(), cost_row(load=[0.0, 0.0])]
    refused("The study offline-cost has tworoom, lewm-s", offline_cost.render, twice)


def test_offline_cost_is_measured_once(folder, tmp_path):
    """Seconds of every phase and the machine's load; the row is kept."""
    output = tmp_path / "offline-cost.jsonl"
    options = ["--latents", folder / "tworoom.latents"]
    shown = study("offline-cost", folder, output, *options)
    assert shown.exit_code == 0, shown.output
    (row,) = read_records(output)
    assert all(row["seconds"][part] > 0 for part in ("encode", "table", "graph", "cpu"))
    assert len(row["load"]) == 2
    assert (row["macro"], row["setting"]["threads"]) == (None, 1)
    again = study("offline-cost", folder, output, *options, "--json")
    assert len(read_records(output)) == 1
    assert json.loads(again.output)[0]["macro model"] == "not trained"


def test_what_training_took_is_read(tmp_path):
    """From the report beside the model; of another encoder it is refused."""
    name = "macro-lewm-small-tworoom"
    told = training_cost(name, load_model(MODEL))
    card = asset_path(name).with_suffix(".md").read_text()
    assert f"cost: {told['steps']} steps, {told['minutes']} minutes" in card
    with pytest.raises(ModelError, match="was trained on latents of model"):
        training_cost(name, load_model("pldm-small-tworoom"))
    copy = tmp_path / "macro.safetensors"
    shutil.copy(asset_path(name), copy)
    with pytest.raises(ModelError, match="^macro.safetensors.report.json beside"):
        training_cost(str(copy), load_model(MODEL))
    report = tmp_path / "macro.safetensors.report.json"
    report.write_text('{"cost": {"steps": 5, "minutes": 0.5, "cpu_minutes": 0.4}}')
    told = training_cost(str(copy), load_model(MODEL))
    assert told["cpu_minutes"] == 0.4
    assert (told["steps"], told["minutes"], told["source"]) == (5, 0.5, report.name)

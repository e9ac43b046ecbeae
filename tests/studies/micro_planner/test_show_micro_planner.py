"""The section on a stronger micro planner, of made-up rows."""

from row_makers import runs

from metro.studies.micro_planner import show_micro_planner as micro_planner
from study_makers import notes_of, refused, table_of


def model_rows(role, frames, method="metro", **changed):
    model = {"name": f"lewm-{role}", "digest": role, "family": "lewm"}
    told = {"role": role, "base": "base", "model": model}
    return [row | told | changed for row in runs({7: frames}, method)]


def test_micro_planner_section():
    """Fine-tuned minus base, paired; the paper's table is always beside it."""
    rows = model_rows("base", [50, None, None]) + model_rows("fine-tuned", [9, 9, None])
    rows += model_rows("fine-tuned", [9, 9, 9], "flat")  # the base never ran it
    section = micro_planner.render(rows)
    (line,) = table_of(section)
    assert (line["base"], line["fine-tuned"]) == ("33.33", "66.67")
    assert (line["points"], line["method"], line["pairs"]) == ("+33.3", "metro", "3")
    paper = {line["method"]: line["points"] for line in table_of(section, 1)[1:]}
    assert paper == {"flat": "+1.33", "metro": "+9.33", "oracle": "+17.33"}
    alone = micro_planner.render(model_rows("base", [50]))
    assert notes_of(alone)[1].startswith("Not run: both models")
    wrong = model_rows("tuned", [50])
    refused("This is not a row of the study micro-planner", micro_planner.render, wrong)

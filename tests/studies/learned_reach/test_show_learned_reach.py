"""The section on learned reach, of made-up rows."""

from row_makers import runs

from metro.studies.learned_reach import show_learned_reach as learned_reach
from study_makers import notes_of, refused, table_of


def option_rows(option, frames):
    rows = runs({7: frames}, "metro")
    return [row | {"setting": row["setting"] | {"option": option}} for row in rows]


def test_learned_reach_section():
    """Learned minus reach, paired; recorded actions are pairs of their own."""
    rows = option_rows("reach", [50, None, None]) + option_rows("learned", [9, 9, None])
    rows += option_rows("reach-recorded", [9, 9]) + option_rows("learned-recorded", [9])
    lines = table_of(learned_reach.render(rows))
    shown = [
        (one["recorded actions"], one["reach"], one["learned"], one["points"])
        for one in lines
    ]
    assert shown == [
        ("no", "33.33", "66.67", "+33.3"),
        ("yes", "100.00", "100.00", "+0.0"),
    ]
    assert [one["pairs"] for one in lines] == ["3", "1"]
    alone = learned_reach.render(option_rows("learned", [50]))
    assert notes_of(alone)[1].startswith("Not run: both prices")
    wrong = option_rows("recorded", [50])
    refused("This is not a row of the study learned-reach", learned_reach.render, wrong)

"""Settings that options ask for, and those that are refused."""

import re

import pytest

from metro.errors import BenchmarkError
from metro.evaluation.records import Setting
from metro.evaluation.settings import choose_settings


def test_the_micro_plan_of_hierarchical_methods_is_fixed(source):
    """Two blocks; another number is refused, not ignored."""
    given = {"goal_distance": 6, "waypoint_budget": None, "step_budget": None}
    given |= {"planner_seeds": [7]}
    (chosen,) = choose_settings(source, "hi-lewm-c", plan_blocks=None, **given)
    assert (chosen.plan_blocks, chosen.step_budget) == (2, 12)
    with pytest.raises(BenchmarkError, match="plans 2 blocks, .* got 3"):
        choose_settings(source, "hi-lewm-c", plan_blocks=3, **given)
    (flat,) = choose_settings(source, "flat", plan_blocks=None, **given)
    assert flat.plan_blocks == 1


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("fly", 1, None, 9, 7),
            "method must be one of metro, flat, oracle, committed, waypoints, hi-lewm, "
            "hi-lewm-c, hi-lewm-c-staged, action-copy, replay, random, stay, got "
            "'fly'.",
        ),
        (
            ("flat", 1, 8, 9, 7),
            "waypoint_budget belongs to metro, committed, action-copy, and only to "
            "them; got 8 for flat.",
        ),
        (
            ("metro", 1, None, 9, 7),
            "waypoint_budget belongs to metro, committed, action-copy, and only to "
            "them; got None for metro.",
        ),
        (
            ("hi-lewm", 2, None, 9, 7),
            "macro_steps belongs to hi-lewm, hi-lewm-c, hi-lewm-c-staged, and only to "
            "them; got None for hi-lewm.",
        ),
        (("flat", 0, None, 9, 7), "plan_blocks must be 1 to 60, got 0."),
        (("flat", 1, None, 0, 7), "step_budget must be 1 to 100000, got 0."),
    ],
)
def test_bad_settings(arguments, told):
    """What belongs together."""
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        Setting(*arguments)

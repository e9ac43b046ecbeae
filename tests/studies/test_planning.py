"""Studies that plan: their settings, and progress over several contexts."""

from pathlib import Path

import pytest

from metro.evaluation.context import EvalConfig
from metro.studies.planning import PlanningConfig, _over_all


def config(graph, **changed):
    """Return what a study plans."""
    source = EvalConfig("tworoom", "tworoom.h5", "lewm-small-tworoom", graph)
    return PlanningConfig(source, Path("rows.jsonl"), **changed)


@pytest.mark.parametrize(("asked", "steps"), [(None, 150), (99, 99)])
def test_steps_are_twice_the_distance_unless_asked(saved, asked, steps):
    """T is 2 d by default, and what was asked for otherwise."""
    (setting,) = config(saved, step_budget=asked).metro_settings()
    assert (setting.method, setting.step_budget) == ("metro", steps)


def test_the_waypoint_budget_is_the_graphs_own(saved):
    """Where no H is chosen it is that of the graph."""
    (setting,) = config(saved).metro_settings()
    assert setting.waypoint_budget == 8


def test_every_seed_is_a_setting(saved):
    """Seeds of the micro planner give one setting each, in their order."""
    settings = config(saved, planner_seeds=(9, 7), waypoint_budget=5).metro_settings()
    found = [(one.planner_seed, one.waypoint_budget) for one in settings]
    assert found == [(9, 5), (7, 5)]


def test_progress_goes_on_from_context_to_context():
    """What was planned and solved before is added, and contexts to come are counted."""
    told = []
    before = [{"frames_to_success": 3}, {"frames_to_success": None}]
    report = _over_all(lambda *numbers: told.append(numbers), before, 2)
    report(1, 2, 1)
    assert told == [(3, 6, 2)]

"""Protocols of the closed loop: micro planners, selectors and methods keep to them."""

import numpy as np
import pytest

from line_makers import Walker, line_graph
from metro import MetroPlanner, find_routes
from metro.errors import BenchmarkError
from metro.planners.methods.committed import CommittedSelector
from metro.planners.methods.flat import GoalSelector
from metro.planners.methods.metro import MetroSelector
from metro.planners.methods.oracle import OracleSelector
from metro.planners.methods.random import RandomPlanner
from metro.planners.methods.registry import methods
from metro.planners.methods.replay import ReplayPlanner
from metro.planners.methods.time_indexed_oracle import TimeIndexedSelector
from metro.planners.open_loop import NoSelector
from metro.testing import check_micro_planner

OWN = np.arange(10, 31, dtype=np.float32)[:, None]


def graph_planner():
    return MetroPlanner(find_routes(line_graph(), np.float32([35.25])))


@pytest.mark.parametrize(
    "planner",
    [
        Walker(frames=3),
        RandomPlanner(2, 5, seeds=[1, 2]),
        ReplayPlanner([np.ones((7, 2), np.float32)] * 2, frames=5),
    ],
    ids=lambda planner: type(planner).__name__,
)
def test_micro_planners_keep_the_contract(planner):
    """Latents per frame, finite actions per query, also for some of the queries."""
    check_micro_planner(planner)


class Careless(Walker):
    """Plans one row, whatever it is given."""

    def plan(self, observed, target, queries):
        return np.full((1, 2, 1), np.nan)


def test_a_planner_that_breaks_the_contract_is_listed():
    """Every finding in one error."""
    with pytest.raises(BenchmarkError) as caught:
        check_micro_planner(Careless(frames=2))
    assert str(caught.value) == (
        "Careless is no micro planner yet:\n"
        "- plan for 2 queries must return [2, frames, A] with at least 1 frame, got "
        "[1, 2, 1]\n"
        "- plan returns actions that are not finite"
    )
    with pytest.raises(BenchmarkError, match="- no method encode\n- no method plan"):
        check_micro_planner(object())


@pytest.mark.parametrize(
    "make",
    [
        lambda: GoalSelector(OWN[-1]),
        lambda: MetroSelector(graph_planner()),
        lambda: CommittedSelector(graph_planner()),
        lambda: OracleSelector(OWN, hop=5),
        lambda: TimeIndexedSelector(OWN, hop=5),
        NoSelector,
    ],
)
def test_selectors_keep_the_contract(make):
    """A target of the same size each time, and a word for why."""
    selector = make()
    found = [selector(np.float32([12.2]), step) for step in (0, 5, 10, 15)]
    assert {target.shape for target, _ in found} == {(1,)}
    assert all(isinstance(kind, str) and kind for _, kind in found)


def test_methods_keep_the_contract():
    """Names and places in tables are their own; what is fixed has a value."""
    names = [name for one in methods() for name in (one.name, *one.aliases)]
    assert len(set(names)) == len(names)
    assert len({one.order for one in methods()}) == len(methods())
    for one in methods():
        assert one.label
        assert one.choose_plan_blocks(None) == one.default_plan_blocks
        assert (one.choose_macro_steps(None) is not None) == one.needs_macro
        assert not (one.needs_graph and not one.needs_model)

"""Methods are found by their files; a new one is one file."""

import ast
from pathlib import Path

import numpy as np
import pytest

import metro
from line_makers import Walker
from metro.errors import BenchmarkError
from metro.evaluation.records import Setting
from metro.planners.closed_loop import ClosedLoop
from metro.planners.methods import registry
from metro.planners.methods.method import Method, Plan
from metro.planners.methods.registry import find_method, method_names, methods

NEW = '''
"""Heads for the goal, in a file of its own."""

from metro.planners.methods.flat import FLAT, GoalSelector
from metro.planners.methods.method import Method

BEELINE = Method(
    "beeline",
    label="beeline",
    order=15,
    make_selector=lambda plan, query, seed: GoalSelector(
        plan.context.goal_latent(query)
    ),
)
'''


@pytest.fixture
def fresh():
    """Forget the methods that a test adds."""
    registry.methods.cache_clear()
    yield
    registry._registered.clear()
    registry.methods.cache_clear()


def test_every_method_of_the_paper_is_there_in_the_order_of_the_tables():
    """The names are those of the rows."""
    assert [method.name for method in methods()] == [
        *("metro", "flat", "oracle", "committed", "waypoints"),
        *("hi-lewm", "hi-lewm-c", "hi-lewm-c-staged"),
        *("action-copy", "replay", "random", "stay"),
    ]


def test_methods_are_found_by_what_they_need():
    """A graph, a world model, a macro model, plans."""
    assert method_names(needs_graph=True) == ("metro", "committed", "action-copy")
    hierarchical = ("hi-lewm", "hi-lewm-c", "hi-lewm-c-staged")
    assert method_names(needs_macro=True) == hierarchical
    assert method_names(has_plans=False) == ("replay", "random", "stay")
    assert method_names(needs_model=False) == ("replay", "random", "stay")


@pytest.mark.parametrize(
    ("alias", "name"), [("no-op", "stay"), ("time-indexed-oracle", "waypoints")]
)
def test_other_names_are_accepted(alias, name):
    """Rows keep the name that they always had."""
    assert find_method(alias).name == name
    setting = Setting(alias, 1, None, 20, 7)
    assert setting.method == name


def test_an_unknown_method_is_refused_with_those_that_exist():
    """One line that lists them."""
    with pytest.raises(BenchmarkError, match=r"^method must be one of metro, flat, .*"):
        find_method("teleport")


def test_a_new_method_is_one_file(fresh, tmp_path, monkeypatch):
    """Put beside the others, it is found; nothing else is edited."""
    (tmp_path / "beeline.py").write_text(NEW)
    folders = [*registry.package.__path__, str(tmp_path)]
    monkeypatch.setattr(registry.package, "__path__", folders)
    assert find_method("beeline").order == 15
    assert method_names()[:3] == ("metro", "beeline", "flat")


def test_a_registered_method_plans(fresh):
    """A method of another package is registered, found, and runs the closed loop."""

    class Context:
        benchmark = None

    def select(plan, query, seed):
        return lambda observed, step: (observed + 3, "ahead")

    own = registry.register(
        Method(
            "own",
            label="own",
            order=500,
            make_selector=select,
            make_micro_planner=lambda plan, queries, seeds: Walker(frames=2),
        )
    )
    found, plan = find_method("own"), Plan(Context(), plan_blocks=1)
    assert found is own
    planner = found.make_micro_planner(plan, [None], [7])
    loop = ClosedLoop(planner)
    loop.begin(0, lambda observed: found.make_selector(plan, None, 7))
    assert loop.is_waiting(0)
    loop.observe(np.full((1, 1, 1, 3), 5, dtype=np.uint8), [0])
    assert [float(action[0]) for action in loop.next_actions(0, 2)] == [1, 1]
    assert loop.episodes[0].kinds == {"ahead": 1}


def test_no_other_file_spells_a_method():
    """Other rooms name methods by their objects, so that a name is written once."""
    source = Path(metro.__file__).parent
    # Words that mean something else too cannot be told apart by their spelling.
    names = set(method_names()) - {"metro", "oracle", "random", "replay", "stay"}
    spelled = [
        f"{path.relative_to(source)}: {node.value}"
        for path in sorted(source.rglob("*.py"))
        if path.parent.name != "methods"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert spelled == []

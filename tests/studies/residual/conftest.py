"""A recorded TwoRoom to search, quick budgets, and metro's sub-goals in it."""

import numpy as np
import pytest

from metro.evaluation.context import EvalConfig
from metro.evaluation.queries import Query, QuerySet
from metro.evaluation.records import Setting
from metro.studies.residual.run_residual import ResidualConfig
from metro.studies.residual.state_search import BUDGETS, Budget
from metro.studies.residual.sub_goals import collect_sub_goals
from metro.studies.residual.targets import TargetConfig
from study_makers import MODEL

QUICK = {"small": Budget(2, 8, 64), "large": Budget(3, 10, 64)}


@pytest.fixture(scope="session")
def evaluated(folder):
    """Twelve recorded episodes with their model and graph."""
    return EvalConfig(
        "tworoom", str(folder / "tworoom.h5"), MODEL, folder / "tworoom.metro"
    )


@pytest.fixture(scope="session")
def searched(folder, evaluated):
    """The same with latents, to search in; tests name files of their own."""
    latents, rows = folder / "tworoom.latents", folder / "rows.jsonl"
    return ResidualConfig(evaluated, latents, rows, TargetConfig("random", 1))


@pytest.fixture
def quick(monkeypatch):
    """Small searches, for tests that are about something else."""
    for name, budget in QUICK.items():
        monkeypatch.setitem(BUDGETS, name, budget)


@pytest.fixture(scope="session")
def sub_goals(evaluated, tmp_path_factory):
    """What metro asks for in two runs, and the file that keeps it."""
    folder = tmp_path_factory.mktemp("sub-goals")
    queries = QuerySet((Query(0, 0, 40), Query(3, 5, 45)), "two", "")
    with evaluated.open() as opened:
        setting = Setting("metro", 1, 8, 20, 7)
        found = collect_sub_goals(opened, setting, queries, folder)
        again = collect_sub_goals(opened, setting, queries, folder)
    assert np.array_equal(found.latents, again.latents)
    return found, next(folder.glob("*.npz"))

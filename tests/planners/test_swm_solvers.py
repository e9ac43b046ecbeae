"""Solvers of stable-worldmodel start from what a route proposes."""

import numpy as np
import pytest

from metro.compat import import_swm
from metro.models.action_stats import ActionStats
from metro.models.loading import load_model
from metro.planners.closed_loop import GuessingPlanner
from metro.planners.swm_solvers import SolverPlanner

STATS = ActionStats(np.float32([0.25, -0.5]), np.float32([2.0, 0.5]))
TINY = 1e-9

# Without room to search, a solver returns where it started.
STUCK = {
    "CEMSolver": {"num_samples": 4, "topk": 2, "n_steps": 1, "var_scale": TINY},
    "ICEMSolver": {"num_samples": 8, "topk": 2, "n_steps": 1, "var_scale": TINY},
    "MPPISolver": {"num_samples": 4, "topk": 2, "n_steps": 1, "var_scale": TINY},
    "PredictiveSamplingSolver": {"num_samples": 2, "noise_scale": 0.0},
    "GradientSolver": {
        **{"n_steps": 1, "num_samples": 1, "var_scale": 0.0},
        "optimizer_kwargs": {"lr": 0.0},
    },
    "LagrangianSolver": {
        **{"n_steps": 1, "num_samples": 1, "var_scale": 0.0},
        "optimizer_kwargs": {"lr": 0.0},
    },
}


@pytest.fixture(scope="module")
def model():
    return load_model("lewm-small-tworoom")


def solver_planner(model, name, **options):
    import_swm()
    import stable_worldmodel.solver as solvers

    made = getattr(solvers, name)
    return SolverPlanner(
        model,
        lambda cost: made(cost, **options),
        plan_blocks=2,
        num_envs=2,
        action_stats=STATS,
    )


def ends(model):
    frames = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), dtype=np.uint8)
    z = model.encode(frames)
    return z, z[::-1].copy()


@pytest.mark.parametrize("name", STUCK)
def test_a_solver_starts_from_the_proposed_actions(model, name):
    """With nothing to search, the plan is what was proposed; NaN is the mean action."""
    planner = solver_planner(model, name, **STUCK[name])
    assert isinstance(planner, GuessingPlanner)
    rng = np.random.default_rng(1)
    # iCEM cuts its candidates at one standard deviation.
    scaled = rng.uniform(-0.9, 0.9, (2, planner.num_frames, 2))
    proposed = STATS.denormalise(scaled)
    proposed[1, 7:] = np.nan
    expected = np.where(np.isnan(proposed), STATS.mean, proposed)
    found = planner.plan(*ends(model), [0, 1], proposed)
    plain = planner.plan(*ends(model), [0, 1])
    assert np.allclose(found, expected, atol=1e-3)
    assert np.allclose(plain, STATS.mean, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "options"), [("CategoricalCEMSolver", {}), ("PGDSolver", {"n_steps": 1})]
)
def test_solvers_that_take_no_guess_take_no_continuous_actions(model, name, options):
    """They refuse the action space before anything could be ignored."""
    with pytest.raises(AssertionError, match="must be [Dd]iscrete"):
        solver_planner(model, name, **options)

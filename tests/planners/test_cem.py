"""The micro planner: equal to stable-worldmodel's, and independent of its company."""

import re

import numpy as np
import pytest
import torch

from metro.compat import import_swm
from metro.errors import ModelError
from metro.planners.cem import CEM, CEMSettings, make_stream


class Drifting:
    """A linear world: the latent moves by what the actions add up to."""

    latent_size, action_size, action_block = 2, 2, 5

    def rollout(self, z, actions):
        """Return the latents after each block."""
        moves = actions.unflatten(-1, (5, 2)).sum(dim=-2)
        return z[:, None] + 0.1 * moves.cumsum(dim=1)


class DriftingCost:
    """The same world as stable-worldmodel's solvers ask for it."""

    def get_cost(self, infos, candidates):
        """Return ``[B, S]`` squared gaps to the goal."""
        start, goal = infos["start"], infos["goal"]
        flat = candidates.flatten(0, 1)
        last = Drifting().rollout(start.flatten(0, 1), flat)[:, -1]
        return (last - goal.flatten(0, 1)).square().sum(-1).view(candidates.shape[:2])


def solve_with_swm(start, goal, settings, seed):
    from types import SimpleNamespace

    import gymnasium

    import_swm()
    from stable_worldmodel.solver import CEMSolver

    solver = CEMSolver(
        model=DriftingCost(),
        num_samples=settings.num_samples,
        topk=settings.num_elites,
        n_steps=settings.iterations,
        var_scale=settings.spread,
        seed=seed,
    )
    space = gymnasium.spaces.Box(-1, 1, (1, 2), dtype=np.float32)
    config = SimpleNamespace(horizon=settings.plan_blocks, action_block=5)
    solver.configure(action_space=space, n_envs=1, config=config)
    infos = {"start": torch.tensor(start)[None], "goal": torch.tensor(goal)[None]}
    return solver.solve(infos)["actions"].numpy()


def test_draws_what_swm_draws():
    """One environment, the same seed: the same plan, bit for bit."""
    settings = CEMSettings(plan_blocks=3, num_samples=64, num_elites=8, iterations=5)
    start, goal = np.float32([0.5, -0.5]), np.float32([1.0, 2.0])
    ours = CEM(Drifting(), settings).plan(start[None], goal[None], [make_stream(7)])
    np.testing.assert_array_equal(ours, solve_with_swm(start, goal, settings, 7))


def test_company_changes_nothing():
    """A query solved beside seven others gets the plan it gets alone."""
    settings = CEMSettings(plan_blocks=2, num_samples=50, num_elites=5, iterations=4)
    rng = np.random.default_rng(0)
    starts, goals = rng.normal(size=(2, 8, 2)).astype(np.float32)
    cem = CEM(Drifting(), settings)
    together = cem.plan(starts, goals, [make_stream(seed) for seed in range(8)])
    for query in range(8):
        part = slice(query, query + 1)
        alone = cem.plan(starts[part], goals[part], [make_stream(query)])
        np.testing.assert_allclose(together[part], alone, rtol=0, atol=1e-6)


def test_plans_reach_what_can_be_reached():
    """In a world that is known exactly, the last latent is at the target."""
    settings = CEMSettings(plan_blocks=1)
    target = np.float32([[0.7, -0.4]])
    plan = CEM(Drifting(), settings).plan(np.zeros((1, 2)), target, [make_stream(0)])
    reached = Drifting().rollout(torch.zeros(1, 2), torch.from_numpy(plan))[:, -1]
    np.testing.assert_allclose(reached.numpy(), target, atol=0.02)


def test_streams_go_on():
    """The second plan of a query draws other numbers than the first."""
    settings = CEMSettings(plan_blocks=1, iterations=1)
    cem, stream = CEM(Drifting(), settings), make_stream(3)
    start, goal = np.zeros((1, 2)), np.ones((1, 2))
    first, second = (cem.plan(start, goal, [stream]) for _ in range(2))
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"plan_blocks": 0}, "plan_blocks must be at least 1, got 0."),
        ({"num_elites": 1}, "num_elites must be in [2, 300], got 1."),
        ({"num_elites": 301}, "num_elites must be in [2, 300], got 301."),
    ],
)
def test_bad_settings(wrong, told):
    """The setting, its range and what it was."""
    with pytest.raises(ModelError, match=f"^{re.escape(told)}$"):
        CEMSettings(**wrong)

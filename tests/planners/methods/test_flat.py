"""Flat planning heads for the goal, and for nothing else."""

from types import SimpleNamespace

import numpy as np

from metro.planners.methods.flat import FLAT, GoalSelector


def test_the_target_is_the_goal_wherever_and_whenever():
    """Neither what is observed nor the step changes the target or its kind."""
    goal = np.float32([3, -1])
    selector = GoalSelector(goal)
    for observed, step in (([0, 0], 0), ([3, -1], 5), ([90, 7], 400)):
        target, kind = selector(np.float32(observed), step)
        assert (target.tolist(), kind) == ([3, -1], "goal")


def test_the_goal_is_that_of_the_query():
    """Each query heads for the latent that the context gives for it."""
    goals = {"one": np.float32([1]), "two": np.float32([2])}
    plan = SimpleNamespace(context=SimpleNamespace(goal_latent=goals.get))
    made = {name: FLAT.make_selector(plan, name, 0) for name in goals}
    heads = {name: made[name](np.float32([8]), 0)[0].item() for name in made}
    assert heads == {"one": 1, "two": 2}

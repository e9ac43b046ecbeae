"""The policy under stable-worldmodel's World and `metro evaluate` are one loop."""

import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest

from metro.benchmark import evaluation_calls
from metro.compat import import_swm
from metro.envs.resize import shrink
from metro.evaluation.batch import (
    make_micro_planner,
    make_rollouts,
    one_torch_thread,
)
from metro.evaluation.queries import Query
from metro.evaluation.records import Setting
from metro.evaluation.rollout import run_rollouts
from metro.planners.policy import FlatPolicy, MetroPolicy

START, DISTANCE, BUDGET = 5, 20, 40
QUERIES = [Query(episode, START, START + DISTANCE) for episode in (1, 4, 6)]


def acted_by_evaluate(context, setting):
    """Return the actions of every query, and its frames to success."""
    rollouts = make_rollouts(context, setting, QUERIES)
    acted = [[] for _ in rollouts]
    for rollout, actions in zip(rollouts, acted, strict=True):
        step = rollout.env.step

        def noted(action, actions=actions, step=step):
            actions.append(action)
            return step(action)

        rollout.env = Noted(rollout.env, noted)
    planner = make_micro_planner(context, setting, QUERIES)
    run_rollouts(rollouts, planner, step_budget=setting.step_budget)
    return acted, [rollout.frames_to_success for rollout in rollouts]


class Noted:
    """An environment whose steps are noted."""

    def __init__(self, env, step):
        self.render, self.step = env.render, step


def drawn(world, size):
    """Return frames ``[B, 1, S, S, 3]`` of the environments in a World of swm.

    A World shrinks frames by another rule than our environments.
    """
    frames = [env.unwrapped.render() for env in world.envs.envs]
    small = [shrink(np.ascontiguousarray(one), (size, size)) for one in frames]
    return np.stack(small)[:, None]


def acted_by_world(context, policy):
    """Return the actions that a World of swm executed, and which queries it solved."""
    swm = import_swm()
    copied = Path(context.corpus.name).with_name("for-swm.h5")
    shutil.copyfile(context.corpus.name, copied)
    dataset = swm.data.load_dataset(str(copied))
    acted, get_action = [[] for _ in QUERIES], policy.get_action

    def noted(infos, **options):
        if any(acted):  # the first frame is the recorded one
            infos = infos | {"pixels": drawn(world, context.model.image_size)}
        actions = get_action(infos, **options)
        for number, action in enumerate(actions):
            if not np.isnan(action).any():
                acted[number].append(action)
        return actions

    policy.get_action = noted
    size = context.model.image_size
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="gymnasium")
        warnings.filterwarnings("ignore", message=".*Gym.*|.*WARN.*")
        world = swm.World(
            "swm/TwoRoom-v1", num_envs=len(QUERIES), image_shape=(size, size)
        )
        world.set_policy(policy)
        outcome = world.evaluate(
            dataset=dataset,
            episodes_idx=[query.episode for query in QUERIES],
            start_steps=[query.start for query in QUERIES],
            goal_offset=DISTANCE,
            eval_budget=BUDGET,
            callables=evaluation_calls(context.benchmark),
        )
        world.close()
    dataset.h5_file.close()
    return acted, outcome["episode_successes"]


@pytest.mark.parametrize("name", ["metro", "flat"])
def test_the_policy_acts_as_metro_evaluate(context, name):
    """The same queries and seeds: the same actions and frames to success."""
    budget = 8 if name == "metro" else None
    setting = Setting(name, 1, budget, BUDGET, 7)
    seeds = [setting.seed_of(query) for query in QUERIES]
    if name == "metro":
        held_out = [query.episode for query in QUERIES]
        policy = MetroPolicy(
            context.graph, context.model, seeds=seeds, held_out=held_out
        )
    else:
        policy = FlatPolicy(context.model, seeds=seeds)
    with one_torch_thread():
        expected, frames = acted_by_evaluate(context, setting)
        acted, solved = acted_by_world(context, policy)
    assert [frame is not None for frame in frames] == list(solved)
    assert any(solved)
    for ours, theirs in zip(expected, acted, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    counted = [len(actions) for actions in acted]
    assert counted == [BUDGET if frame is None else frame for frame in frames]

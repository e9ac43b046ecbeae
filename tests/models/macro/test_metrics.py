"""Laws of how macro models are measured."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from macro_makers import make_macro, make_trajectories
from numpy.testing import assert_allclose

from metro.models.macro import metrics
from metro.models.macro.metrics import rollout_errors, window_errors
from metro.models.macro.windows import gather, sample_waypoints

FEW = np.array([1, 4])


@pytest.fixture(scope="module")
def macro():
    return make_macro()


@pytest.fixture(scope="module")
def source():
    return make_trajectories(6, 80)


def roll_out_slowly(macro, source, steps):
    """Errors of every start in `FEW`, one start at a time, planning step by step."""
    errors = []
    for episode in FEW:
        for start in range(80 * episode, 80 * (episode + 1) - 25 * steps):
            end = start + 25 * steps
            chunks = torch.from_numpy(source.actions[start:end].reshape(steps, 5, -1))
            actions = macro.encode(chunks)[None]
            z = torch.from_numpy(source.z[start])[None]
            last = macro.rollout(z, actions)[0, -1].numpy()
            errors.append([last - source.z[end], source.z[start] - source.z[end]])
    return np.square(errors).mean(axis=(0, 2))


def test_rollout_errors_equal_those_of_every_start(macro, source):
    """Means over all starts from which so many macro steps stay in the episode."""
    found = rollout_errors(macro, source, FEW)
    assert [error["macro_steps"] for error in found] == [1, 2, 3]
    # The longest alone: it has ten starts, shorter ones have a hundred.
    expected = roll_out_slowly(macro, source, 3)
    assert_allclose([found[2]["prediction"], found[2]["copy"]], expected, rtol=1e-4)


def test_other_episodes_do_not_count(macro, source):
    """Rollout errors of some episodes ignore what the others hold."""
    z = source.z.reshape(6, 80, -1).copy()
    z[[0, 2, 3, 5]] = 1e6
    changed = replace(source, z=z.reshape(480, -1))
    assert rollout_errors(macro, changed, FEW) == rollout_errors(macro, source, FEW)


@pytest.mark.parametrize("measure", [rollout_errors, window_errors])
def test_equal_calls_measure_the_same_few(macro, monkeypatch, measure):
    """Of more windows or starts than are measured, the same ones are drawn."""
    source, places = make_trajectories(3, 100), np.arange(3)
    every = measure(macro, source, places)
    monkeypatch.setattr(metrics, "MEASURED", 2)
    few = measure(macro, source, places)
    assert few == measure(macro, source, places)
    assert few != every


def test_episodes_shorter_than_a_macro_step_have_no_errors(macro):
    """25 frames have no frame that lies 25 further; 26 have one."""
    short = make_trajectories(2, 25), make_trajectories(2, 26)
    found = [rollout_errors(macro, one, np.array([0, 1])) for one in short]
    assert [len(errors) for errors in found] == [0, 1]


def test_window_errors_equal_those_of_every_window(macro):
    """Each waypoint is predicted from those before it, or copied from the last."""
    source = make_trajectories(3, 100)
    starts = np.array([3, 5, 103, 212])
    waypoints = np.random.default_rng(0)
    waypoints.choice(starts, 4, replace=False)
    batch = gather(source, starts, sample_waypoints(4, waypoints))
    errors = []
    for z, blocks, is_padding in zip(
        batch.z, batch.blocks, batch.is_padding, strict=True
    ):
        # Without padding and without a batch: each macro action by itself.
        actions = torch.cat(
            [
                macro.encode(torch.from_numpy(some[~hidden])[None])
                for some, hidden in zip(blocks, is_padding, strict=True)
            ]
        )
        with torch.no_grad():
            made = macro.network.predict(torch.from_numpy(z[None, :-1]), actions[None])
        errors.append([made[0].numpy() - z[1:], z[:-1] - z[1:]])
    found = window_errors(macro, source, starts)
    expected = np.square(errors).mean(axis=(0, 2, 3))
    assert_allclose([found["prediction"], found["copy"]], expected, rtol=1e-4)

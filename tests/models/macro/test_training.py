"""Laws of macro training: waypoints, masks, resuming, and that something is learned."""

import re
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from macro_makers import (
    QUICK,
    SIZES,
    make_frozen,
    make_trajectories,
)
from numpy.testing import assert_array_equal

from metro.errors import ModelError
from metro.models.macro import training
from metro.models.macro.metrics import rollout_errors
from metro.models.macro.train_config import MacroTrainConfig, macro_config_for
from metro.models.macro.training import MacroTask, train_macro
from metro.models.macro.weights import load_macro
from metro.models.macro.windows import (
    WINDOW_FRAMES,
    Trajectories,
    WindowSampler,
    gather,
    sample_waypoints,
)
from metro.models.sequences import sequence_starts, split_episodes, split_starts
from metro.models.trainer import Trainer


@pytest.fixture(scope="module")
def source():
    """Twelve episodes of a linear system, 100 frames each."""
    return make_trajectories()


@pytest.fixture(scope="module")
def model():
    """A tiny frozen world model."""
    return make_frozen()


@pytest.fixture(autouse=True)
def few_checks(monkeypatch):
    """Measure models on the way twice only."""
    monkeypatch.setattr(training, "CHECKS", 2)


def run(source, model, path, config=QUICK, **settings):
    return train_macro(source, model, path, sizes=SIZES, config=config, **settings)


def test_waypoints_follow_their_law():
    """From row 2 on, spans even over 4 to 15, what is left over spread evenly."""
    rows = sample_waypoints(120_000, np.random.default_rng(0))
    assert rows.shape == (120_000, 5)
    assert (rows[:, 0] == 2).all()
    gaps, spans = np.diff(rows, axis=1), rows[:, -1] - 2
    assert gaps.min() == 1
    counts = np.bincount(spans, minlength=16)
    assert counts[:4].sum() == 0
    np.testing.assert_allclose(counts[4:] / len(rows), 1 / 12, atol=0.004)
    np.testing.assert_allclose(gaps.mean(axis=0), 9.5 / 4, atol=0.03)
    # Of span 6, two rows are dropped into four gaps: both into one with chance 1/4.
    same = (gaps[spans == 6].max(axis=1) == 3).mean()
    assert same == pytest.approx(0.25, abs=0.02)


def test_windows_hold_latents_and_actions_between(source):
    """Chunk i has the blocks from waypoint i up to waypoint i + 1; padding is told."""
    waypoints = np.array([[2, 3, 5, 6, 10]])
    batch = gather(source, np.array([100]), waypoints)
    assert_array_equal(batch.z[0], source.z[100 + 5 * waypoints[0]])
    assert batch.blocks.shape == (1, 4, 4, 10)
    assert_array_equal((~batch.is_padding[0]).sum(axis=1), [1, 2, 1, 4])
    assert_array_equal(batch.blocks[0, 1, 1], source.actions[120:125].ravel())
    assert_array_equal(batch.blocks[0, 3, 3], source.actions[145:150].ravel())
    assert (batch.blocks[batch.is_padding] == 0).all()


def test_windows_stay_in_their_episode():
    """Every start leaves 86 frames of its own episode, and none is missing."""
    lengths = np.array([87, 85, 86])
    assert_array_equal(
        sequence_starts(lengths, np.arange(3), rows=WINDOW_FRAMES), [0, 1, 172]
    )
    assert_array_equal(
        sequence_starts(lengths, np.array([2]), rows=WINDOW_FRAMES), [172]
    )


def test_every_epoch_visits_each_window_once(source):
    """The same step gives the same batch; an epoch is a permutation."""
    starts = np.arange(16)
    sampler = WindowSampler(source, starts, batch_size=8, seed=0)
    assert sampler.steps_per_epoch == 2
    orders = []
    for epoch in range(2):
        sampler.batch(2 * epoch)
        orders.append(sampler._known[1])
    assert_array_equal(np.sort(orders[0]), starts)
    assert (orders[0] != orders[1]).any()
    first = sampler.batch(3).z
    sampler.batch(0)
    assert_array_equal(sampler.batch(3).z, first)


def test_the_published_recipe():
    """AdamW 5e-5 / 1e-3, batch 128, 15 epochs, 1 % warm-up, windows split."""
    config = macro_config_for("paper")
    assert (config.learning_rate, config.weight_decay) == (5e-5, 1e-3)
    assert (config.batch_size, config.epochs, config.warmup) == (128, 15, 0.01)
    assert (config.split, config.seed) == ("windows", 3072)
    rates = [config.rate_at(step, 1000) for step in range(1000)]
    assert rates[9] == rates[10] == 5e-5
    assert rates[-1] < 1e-9
    assert macro_config_for("small", epochs=3) == MacroTrainConfig(epochs=3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MacroTrainConfig(epochs=0), "epochs must be at least 1, got 0."),
        (
            lambda: MacroTrainConfig(split="clips"),
            "split must be one of episodes, windows, got 'clips'.",
        ),
        (lambda: macro_config_for("big"), "preset must be paper or small, got 'big'."),
    ],
)
def test_wrong_recipes_are_told(make, message):
    """A config lists what would have been valid."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        make()


@pytest.mark.parametrize("split", ["episodes", "windows"])
def test_windows_are_held_out(source, split):
    """Training and judged windows are disjoint; by episodes they share no frame."""
    config = replace(QUICK, split=split)
    kept, judged = split_starts(source.lengths, config, rows=WINDOW_FRAMES)
    assert not set(kept) & set(judged)
    assert len(kept) + len(judged) == 12 * 15
    if split == "episodes":
        assert not set(kept // 100) & set(judged // 100)


def test_gradients_reach_the_macro_part_only(source, model, tmp_path):
    """All macro tensors move; the world model and its projector stay as they were."""
    before = {
        name: tensor.clone() for name, tensor in model.network.state_dict().items()
    }
    task = MacroTask(source, model, SIZES, QUICK)
    learner = Trainer(task, tmp_path / "m.safetensors")
    start = {name: tensor.clone() for name, tensor in task.network.state_dict().items()}
    assert torch.equal(
        start["high_pred_proj.net.0.weight"], before["pred_proj.net.0.weight"]
    )
    for step in range(4):
        learner.advance(task.sampler.batch(step))
    for name, tensor in task.network.named_parameters():
        assert not torch.equal(tensor, start[name]), name
    for name, tensor in model.network.state_dict().items():
        assert torch.equal(tensor, before[name]), name
    assert all(one.grad is None for one in model.network.parameters())


def test_the_same_seed_gives_the_same_file(source, model, tmp_path):
    """Training is deterministic, down to the bytes of the file."""
    files = [run(source, model, tmp_path / f"{n}.safetensors").path for n in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()
    other = run(source, model, tmp_path / "c.safetensors", replace(QUICK, seed=1))
    assert other.model.digest != load_macro(files[0]).digest


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_resumed_training_gives_the_same_bytes(source, model, tmp_path, dropout):
    """Ctrl-C in the middle, then the same call: the file of an undisturbed run."""
    settings = {"sizes": replace(SIZES, dropout=dropout), "config": QUICK}
    whole = train_macro(source, model, tmp_path / "whole.safetensors", **settings)

    def press(done, _):
        if done == 3:
            signal.raise_signal(signal.SIGINT)

    parts = tmp_path / "parts.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train_macro(source, model, parts, **settings, progress=press)
    assert not parts.exists()
    steps = []
    resumed = train_macro(
        source, model, parts, **settings, progress=lambda done, _: steps.append(done)
    )
    assert steps[0] == 5
    assert resumed.path.read_bytes() == whole.path.read_bytes()
    assert sorted(file.name for file in tmp_path.glob("parts*")) == [
        "parts.safetensors",
        "parts.safetensors.log.json",
    ]


def test_a_linear_system_is_learned(model, tmp_path):
    """A tiny macro model predicts far better than copying, one and two steps ahead."""
    source = make_trajectories(100)
    config = MacroTrainConfig(epochs=6, batch_size=64, learning_rate=5e-3)
    trained = run(source, model, tmp_path / "m.safetensors", config)
    assert trained.log[-1]["prediction"] < 0.2 * trained.log[-1]["copy"]
    _, held_out = split_episodes(100, config.held_out, config.seed)
    errors = rollout_errors(trained.model, source, held_out)
    assert [error["macro_steps"] for error in errors] == [1, 2, 3]
    for error in errors[:2]:
        assert error["prediction"] < 0.5 * error["copy"], error


def test_too_few_windows_are_told(model, tmp_path):
    """Fewer windows than one batch is an error, not an endless epoch."""
    message = (
        "Training needs at least one batch of 16 windows of 86 frames; the corpus has "
        "0. Record more or longer episodes."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        run(make_trajectories(length=60), model, tmp_path / "m.safetensors")


def test_what_does_not_fit_is_told(source, model, tmp_path):
    """Latents or actions of another size, rows that disagree, a file that exists."""
    wide = replace(SIZES, latent_size=16)
    message = (
        "The macro network takes latents of 16 and action blocks of 10 numbers, the "
        "corpus has 8 and 10."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        train_macro(source, model, tmp_path / "m", sizes=wide, config=QUICK)
    message = (
        "Latents, actions and episodes must have the same rows, got 1200, 1199, 1200. "
        "Encode the same corpus."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        Trajectories(source.z, source.actions[:-1], source.lengths)
    path = tmp_path / "mine.safetensors"
    path.write_text("mine")
    message = f"{path} exists already. Delete it or choose another name."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        run(source, model, path)

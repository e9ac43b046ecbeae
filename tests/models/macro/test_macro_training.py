"""Laws of macro training: waypoints, masks, resuming, and that something is learned."""

import re
import signal
from dataclasses import replace

import pytest
import torch
from macro_makers import (
    QUICK,
    SIZES,
    make_frozen,
    make_trajectories,
)

from metro.errors import ModelError
from metro.models.macro import macro_training as training
from metro.models.macro.macro_training import MacroTask
from metro.models.macro.macro_weights import load_macro
from metro.models.macro.metrics import rollout_errors
from metro.models.macro.windows import (
    Trajectories,
)
from metro.models.sequences import split_episodes
from metro.models.train_config import MacroTrainConfig
from metro.models.trainer import Trainer, run_training


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


def run(source, model, path, config=QUICK, *, sizes=SIZES, progress=None):
    with run_training(
        lambda: MacroTask(source, model, sizes, config),
        path,
        threads=config.threads,
        progress=progress,
    ) as made:
        return made


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
    settings = {"sizes": replace(SIZES, dropout=dropout)}
    whole = run(source, model, tmp_path / "whole.safetensors", **settings)

    def press(done, _):
        if done == 3:
            signal.raise_signal(signal.SIGINT)

    parts = tmp_path / "parts.safetensors"
    with pytest.raises(KeyboardInterrupt):
        run(source, model, parts, **settings, progress=press)
    assert not parts.exists()
    steps = []
    resumed = run(
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
        run(source, model, tmp_path / "m", sizes=wide)
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

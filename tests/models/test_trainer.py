"""Laws of the one training loop: determinism, checkpoints, resuming."""

import re
import signal
from dataclasses import replace

import pytest
from model_makers import QUICK, make_footage, train

from metro.errors import ModelError
from metro.models import trainer
from metro.models.loading import load_model


@pytest.fixture(scope="module")
def dataset():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


@pytest.mark.parametrize("family", ["lewm", "pldm"])
def test_the_same_seed_gives_the_same_file(dataset, tmp_path, family):
    """Training is deterministic, down to the bytes of the file."""
    config = replace(QUICK, family=family, state_head="throughout")
    files = [train(dataset, tmp_path / f"{n}.safetensors", config).path for n in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()
    other = train(dataset, tmp_path / "c.safetensors", replace(config, seed=1))
    assert other.model.digest != load_model(files[0]).digest


def test_resumed_training_gives_the_same_bytes(dataset, tmp_path):
    """Ctrl-C in the middle, then the same call: the file of an undisturbed run."""
    whole = train(dataset, tmp_path / "whole.safetensors").path

    def press(done, _):
        if done == 3:
            signal.raise_signal(signal.SIGINT)

    parts = tmp_path / "parts.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train(dataset, parts, progress=press)
    assert not parts.exists()
    steps = []
    resumed = train(dataset, parts, progress=lambda done, _: steps.append(done))
    assert steps[0] == 5  # the step under way was finished and kept
    assert resumed.path.read_bytes() == whole.read_bytes()
    assert sorted(file.name for file in tmp_path.glob("parts*")) == [
        "parts.safetensors",
        "parts.safetensors.log.json",
    ]


def test_checkpoints_are_written_on_the_way(dataset, tmp_path, monkeypatch):
    """A run that is killed goes on from its last checkpoint."""
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", 0.0)
    path = tmp_path / "killed.safetensors"

    class Killed(Exception):
        pass

    def kill(done, _):
        if done == 4:
            raise Killed

    with pytest.raises(Killed):
        train(dataset, path, progress=kill)
    whole = train(dataset, tmp_path / "whole.safetensors").path
    assert train(dataset, path).path.read_bytes() == whole.read_bytes()


def test_a_checkpoint_of_other_settings_is_told(dataset, tmp_path):
    """Other settings never go on from this checkpoint."""
    path = tmp_path / "model.safetensors"

    def press(done, _):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(dataset, path, progress=press)
    message = (
        f"{path}.checkpoint belongs to a run with other settings or another corpus. "
        f"Delete it, or train to another file."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        train(dataset, path, replace(QUICK, seed=9))
    (tmp_path / "model.safetensors.checkpoint").write_bytes(b"half")
    with pytest.warns(RuntimeWarning, match=r"is damaged \(\w+\)\. It is deleted"):
        train(dataset, path)


def test_an_existing_file_is_kept(dataset, tmp_path):
    """Nothing is overwritten."""
    path = tmp_path / "model.safetensors"
    path.write_text("mine")
    message = f"{path} exists already. Delete it or choose another name."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        train(dataset, path)

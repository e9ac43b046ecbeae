"""Laws of unfinished training on disk."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from metro.errors import ModelError
from metro.models.checkpoints import Checkpoint, checkpoint_path, remove, resume, store


def make_network():
    torch.manual_seed(0)
    network = torch.nn.Linear(3, 3)
    return network, torch.optim.AdamW(network.parameters(), lr=0.1)


def take_steps(network, optimizer, steps):
    for step in steps:
        optimizer.zero_grad()
        network(torch.full((2, 3), float(step))).square().sum().backward()
        optimizer.step()


def make_checkpoint(**changes):
    network, optimizer = make_network()
    take_steps(network, optimizer, range(3))
    made = Checkpoint(
        key="this run",
        step=3,
        seconds=1.5,
        cpu_seconds=2.5,
        log=[{"step": 3, "loss": 0.25}],
        network=network.state_dict(),
        heads={},
        optimizer=optimizer.state_dict(),
    )
    return replace(made, **changes)


def test_a_resumed_run_takes_the_same_steps(tmp_path):
    """Three steps, a checkpoint and four steps are seven steps, bit for bit."""
    straight, optimizer = make_network()
    take_steps(straight, optimizer, range(7))
    store(tmp_path / "m", make_checkpoint())
    found = resume(tmp_path / "m", "this run")
    network, optimizer = make_network()
    network.load_state_dict(found.network)
    optimizer.load_state_dict(found.optimizer)
    take_steps(network, optimizer, range(found.step, 7))
    assert torch.equal(network.weight, straight.weight)


def test_what_was_measured_comes_back(tmp_path):
    """Times and log of the steps before go on where they stopped."""
    store(tmp_path / "new folder" / "m", made := make_checkpoint())
    found = resume(tmp_path / "new folder" / "m", "this run")
    for name in ("key", "step", "seconds", "cpu_seconds", "log", "heads"):
        assert getattr(found, name) == getattr(made, name), name


def test_the_newest_checkpoint_takes_the_place_of_the_last(tmp_path):
    """There is one checkpoint of a model, and no other file beside it."""
    for step in (3, 8):
        store(tmp_path / "m", make_checkpoint(step=step))
    assert resume(tmp_path / "m", "this run").step == 8
    assert list(tmp_path.iterdir()) == [checkpoint_path(tmp_path / "m")]


def test_models_that_differ_after_a_dot_have_their_own_checkpoints():
    """The name is appended to, not cut at its last dot."""
    found = [checkpoint_path(Path(f"lewm-0.{part}")).name for part in "12"]
    assert found == ["lewm-0.1.checkpoint", "lewm-0.2.checkpoint"]


def test_without_a_checkpoint_training_starts_anew(tmp_path):
    """Never stored or removed, and removed twice: there is nothing to resume."""
    assert resume(tmp_path / "m", "this run") is None
    store(tmp_path / "m", make_checkpoint())
    for _ in range(2):
        remove(tmp_path / "m")
        assert resume(tmp_path / "m", "this run") is None


def test_a_checkpoint_of_another_run_is_refused_and_kept(tmp_path):
    """Other settings neither continue it nor destroy it."""
    store(tmp_path / "m", make_checkpoint())
    message = (
        f"{tmp_path}/m.checkpoint belongs to a run with other settings or another "
        f"corpus. Delete it, or train to another file."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        resume(tmp_path / "m", "another run")
    assert resume(tmp_path / "m", "this run").step == 3


DAMAGES = ["empty", "cut", "altered", "text", "another form", "code", "no mark"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_discarded(tmp_path, damage):
    """Whatever is wrong with the file, it goes with one warning; nothing resumes."""
    store(tmp_path / "m", make_checkpoint())
    stored = checkpoint_path(tmp_path / "m")
    if damage == "another form":
        torch.save({"step": 3}, stored)
    elif damage == "code":
        torch.save({**vars(make_checkpoint()), "heads": make_network()[0]}, stored)
    else:
        whole = stored.read_bytes()
        middle = len(whole) // 2
        altered = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        kept = {"empty": b"", "cut": whole[:middle], "text": b"no weights"}
        # The mark of the digest too: it must not pass for one that has no digest.
        kept |= {"altered": altered, "no mark": whole[:-70] + b"x" + whole[-69:]}
        stored.write_bytes(kept[damage])
    with pytest.warns(
        RuntimeWarning, match=r"m\.checkpoint is damaged \(\w+\)\. It"
    ) as w:
        assert resume(tmp_path / "m", "this run") is None
    assert len(w) == 1
    assert not stored.exists()


def test_checkpoints_of_earlier_versions_are_resumed(tmp_path):
    """They have no digest."""
    torch.save(vars(make_checkpoint()), checkpoint_path(tmp_path / "m"))
    assert resume(tmp_path / "m", "this run").step == 3


def test_a_pipe_is_no_checkpoint(tmp_path):
    """It is refused at once, and stays: it is not ours."""
    os.mkfifo(checkpoint_path(tmp_path / "m"))
    with pytest.raises(ModelError, match="is a pipe, not a file"):
        resume(tmp_path / "m", "this run")
    assert checkpoint_path(tmp_path / "m").is_fifo()

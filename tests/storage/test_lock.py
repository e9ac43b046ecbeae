"""Locks: one writer at a time, who it is, and that the dead hold nothing."""

import errno
import os
import re
import signal
import subprocess
import sys
import threading

import pytest

from metro.errors import StorageError
from metro.storage import lock
from metro.storage.lock import only_writer, opened_alone, try_lock

HOLDER = """
import sys, time
from metro.storage.lock import only_writer
with only_writer(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that makes ``a.latents``."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "a.latents")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def test_a_second_writer_learns_who_is_first(tmp_path, holder):
    """Process, machine and time, and what to do; also by way of a link."""
    (tmp_path / "link").symlink_to(tmp_path / "a.latents")
    for name in ("a.latents", "link"):
        said = (
            f"{re.escape(str(tmp_path / name))} is being written by process "
            rf"{holder.pid} on {re.escape(os.uname().nodename)} since [-0-9]+ [+:0-9]+"
            r"\. Wait for it, or choose another name\."
        )
        with (
            pytest.raises(StorageError, match=f"^{said}$"),
            only_writer(tmp_path / name),
        ):
            pytest.fail("there are two writers")


def test_a_killed_process_holds_nothing(tmp_path, holder):
    """The kernel gives its lock up; what it left behind is taken over and deleted."""
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    assert os.listdir(tmp_path) == [".a.latents.lock"]
    with only_writer(tmp_path / "a.latents"):
        pass
    assert os.listdir(tmp_path) == []


def test_one_may_wait_for_the_other(tmp_path, holder, monkeypatch):
    """It is said who is waited for, once."""

    def try_lock_later(descriptor, *, wait=False):
        if wait:
            holder.kill()
        return try_lock(descriptor, wait=wait)

    monkeypatch.setattr(lock, "try_lock", try_lock_later)
    other = f"process {holder.pid} on .*; waiting for it"
    with (
        pytest.warns(RuntimeWarning, match=other) as said,
        only_writer(tmp_path / "a.latents", wait=True),
    ):
        assert holder.wait() < 0
    assert len(said) == 1


def test_an_error_gives_the_lock_up(tmp_path):
    """And so does Ctrl-C."""
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), only_writer(tmp_path / "new" / "a"):
            raise error
        assert os.listdir(tmp_path / "new") == []


def test_a_place_that_cannot_be_written_is_one_error(tmp_path):
    """Before any work, and without numbers of the system."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"^[^\n[]*cannot be written: [^\n[]*$"):
        with only_writer(tmp_path / "file" / "a"):
            pytest.fail("nothing can be written there")


def test_a_file_that_is_deleted_while_we_wait_is_made_again(tmp_path):
    """What is written goes to the file of that name, not to a deleted one."""
    path, waits = tmp_path / "rows", threading.Event()

    def append():
        waits.set()
        with opened_alone(path) as file:
            file.write(b"mine")

    with opened_alone(path):
        other = threading.Thread(target=append)
        other.start()
        waits.wait()
        path.unlink()
    other.join()
    assert path.read_bytes() == b"mine"


def test_a_file_system_without_locks_is_said(tmp_path, monkeypatch):
    """One warning; the work is done all the same."""

    def refuse(*_):
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    for hold in (only_writer, opened_alone):
        with pytest.warns(RuntimeWarning, match="has no locks") as said:
            with hold(tmp_path / "a"):
                pass
        assert len(said) == 1

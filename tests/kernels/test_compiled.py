"""The cache of compiled kernels: whatever is wrong with it, the answer is right."""

import errno
import importlib.util
import os
import subprocess
import warnings
from contextlib import suppress
from pathlib import Path

import pytest

from metro.kernels import compiled as compiled_module

KERNEL = """
from metro.kernels.compiled import compiled

@compiled(cached=True)
def add_one(number):
    return number + 1
"""
CANNOT = "cache of compiled kernels.* cannot be used"


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Return a function that asks a kernel as a new process would."""
    file = tmp_path / "kernel_file.py"
    file.write_text(KERNEL)

    def answer():
        monkeypatch.setattr(compiled_module, "_warnings", [])
        spec = importlib.util.spec_from_file_location("kernel_file", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert module.add_one(41) == 42
        return module.add_one

    return answer


def kept(tmp_path, pattern):
    files = sorted((tmp_path / "__pycache__").glob(pattern))
    assert files
    return files


def test_the_second_process_compiles_nothing(ask):
    """A whole cache is used, without a word."""
    ask()
    assert sum(ask().stats.cache_hits.values()) == 1


@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("damage", ["empty", "cut", "altered", "folder", "moved"])
def test_a_damaged_cache_is_compiled_over(ask, tmp_path, pattern, damage):
    """One warning, the right answer, and the next process finds a whole cache."""
    ask()
    for file in kept(tmp_path, pattern):
        content = file.read_bytes()
        middle = len(content) // 2
        if damage == "folder":
            file.unlink()
            file.mkdir()
        else:
            file.write_bytes(
                {
                    "empty": b"",
                    "cut": content[:middle],
                    "altered": content[:middle] + b"\0\1" + content[middle + 2 :],
                    "moved": sealed(b"cgone_module\nkernel\n."),
                }[damage]
            )
    if (pattern, damage) == ("*.nbc", "folder"):
        # Numba takes it for a missing file; only writing it fails.
        with pytest.warns(RuntimeWarning, match=CANNOT):
            ask()
        return
    with pytest.warns(RuntimeWarning, match=CANNOT) as noticed:
        ask()
    assert len(noticed) == 1
    if damage != "folder":
        assert sum(ask().stats.cache_hits.values()) == 1


def sealed(body):
    """Return a pickle that is whole, as a module that has moved leaves it."""
    return body + compiled_module.hashlib.sha256(body).digest()


def test_a_full_disk_does_not_stop_a_kernel(ask, monkeypatch):
    """What cannot be kept is compiled, with one warning."""

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(compiled_module._SealedFile, "_save_index", full)
    with pytest.warns(RuntimeWarning, match="No space left on device") as noticed:
        ask()
    assert len(noticed) == 1


def test_no_place_for_a_cache_does_not_stop_a_kernel(ask, monkeypatch):
    """A read-only installation without a home folder compiles, with one warning."""
    locators = compiled_module.FunctionCache._impl_class
    monkeypatch.setattr(locators, "_locator_classes", [])
    with pytest.warns(RuntimeWarning, match="no locator available") as noticed:
        ask()
    assert len(noticed) == 1


def test_a_change_in_another_kernel_is_seen(ask, monkeypatch):
    """Kernels are compiled into one another: code of another source is not used."""
    ask()
    monkeypatch.setattr(compiled_module, "_source_digest", lambda: "another source")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sum(ask().stats.cache_hits.values()) == 0


def test_every_kernel_is_declared_here():
    """No kernel uses Numba's own decorator, whose cache stops the program."""
    folder = Path(compiled_module.__file__).parent
    others = [file for file in folder.rglob("*.py") if file.name != "compiled.py"]
    assert [file for file in others if "njit" in file.read_text()] == []


@pytest.fixture
def full_disk(tmp_path):
    """Return a folder on a disk of 64 KiB that is full."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root mounts disks")
    with suppress(OSError):
        (folder / "filler").write_bytes(bytes(1 << 17))
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full_does_not_stop_a_kernel(ask, monkeypatch, full_disk):
    """A real one, of 64 KiB: one warning."""
    monkeypatch.setattr(compiled_module.config, "CACHE_DIR", str(full_disk))
    with pytest.warns(RuntimeWarning, match=CANNOT) as noticed:
        ask()
    assert len(noticed) == 1


@pytest.mark.parametrize("place", ["file", "pipe", "loop", "/proc", "/dev/null"])
def test_no_place_for_a_cache_is_too_odd(ask, monkeypatch, tmp_path, place):
    """A file, a pipe, a link to itself, and folders that nobody can write to.

    Numba then takes the folder beside the code: there is nothing to warn of.
    """
    folder = tmp_path / place
    if place == "file":
        folder.write_bytes(b"")
    elif place == "pipe":
        os.mkfifo(folder)
    elif place == "loop":
        folder.symlink_to(folder)
    monkeypatch.setattr(compiled_module.config, "CACHE_DIR", str(folder))
    ask()
    assert sum(ask().stats.cache_hits.values()) == 1


def test_a_pipe_in_the_cache_does_not_stop_a_kernel(ask, tmp_path):
    """Reading it would wait for a writer."""
    ask()
    for file in kept(tmp_path, "*.nbi"):
        file.unlink()
        os.mkfifo(file)
    with pytest.warns(RuntimeWarning, match=CANNOT) as noticed:
        ask()
    assert len(noticed) == 1

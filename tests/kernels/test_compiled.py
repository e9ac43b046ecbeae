"""The cache of compiled kernels: whatever is wrong with it, the answer is right."""

import errno
import importlib.util
import os
import warnings
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

"""Importing stable_worldmodel beside any pair of torch and torchvision."""

import subprocess
import sys

import pytest

from metro import compat
from metro.errors import MissingExtra


def run(program):
    """Return what a fresh process prints; warnings are errors there."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.split()


def test_swm_imports_without_a_warning_and_knows_our_environments():
    """In a fresh process, whatever torchvision was built for."""
    program = """
from metro.compat import import_swm
import_swm()
import gymnasium
print("swm/TwoRoom-v1" in gymnasium.registry, "swm/OGBCube-v0" in gymnasium.registry)
"""
    assert run(program) == ["True", "True"]


def test_transforms_work_after_the_import():
    """They are what swm uses torchvision for."""
    vision = compat.import_torchvision()
    import torch
    from torchvision.transforms import v2

    picture = torch.zeros((3, 8, 8), dtype=torch.uint8)
    assert v2.Resize(4)(picture).shape == (3, 4, 4)
    assert vision is compat.import_torchvision()


def test_a_sound_torchvision_is_left_alone(monkeypatch):
    """Nothing is declared where the import succeeds."""
    compat.import_torchvision()
    monkeypatch.setattr(compat, "_definitions", [])
    compat.import_torchvision()
    assert not compat.was_mended()


def test_other_failures_of_torchvision_are_not_hidden(monkeypatch):
    """Only the two missing operators are mended."""

    def fail(name):
        raise RuntimeError("something else")

    monkeypatch.setattr(compat, "import_module", fail)
    with pytest.raises(RuntimeError, match="^something else$"):
        compat.import_torchvision()


def test_what_is_missing_is_named_with_its_extra(monkeypatch):
    """In one line."""
    monkeypatch.setitem(sys.modules, "stable_worldmodel", None)
    message = (
        "^Worlds and world models need stable_worldmodel, which is not installed: "
        r'pip install "metro-wm\[swm\]"$'
    )
    with pytest.raises(MissingExtra, match=message):
        compat.import_swm()

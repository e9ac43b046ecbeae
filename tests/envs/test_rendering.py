"""Choosing a renderer, trying it out, and saying why none works."""

import os
import re
import subprocess
from types import SimpleNamespace

import pytest

from metro.benchmark import load_benchmark
from metro.envs import rendering
from metro.envs.rendering import (
    OWN,
    Renderer,
    adopt,
    find_mujoco_renderer,
    find_renderer,
    probe,
)
from metro.errors import WorldError

VARIABLES = ("MUJOCO_GL", "PYOPENGL_PLATFORM", "SDL_VIDEODRIVER", "DISPLAY")


@pytest.fixture(autouse=True)
def untouched(monkeypatch):
    """No choice made yet, and none left behind."""
    for name in VARIABLES:
        monkeypatch.setenv(name, "")  # so that it is restored afterwards
        monkeypatch.delenv(name)
    monkeypatch.setattr(rendering, "_found", [])
    monkeypatch.setitem(rendering.sys.modules, "mujoco", None)


def answer(monkeypatch, devices):
    """Let probing find these devices by backend; all else does not draw."""
    tried = []

    def fake(backend):
        tried.append(backend)
        if backend in devices:
            return Renderer(backend, devices[backend]), ""
        return None, "no such library"

    monkeypatch.setattr(rendering, "probe", fake)
    return tried


def test_a_renderer_is_found_here_and_described():
    """And both variables agree afterwards."""
    renderer = find_mujoco_renderer()
    assert os.environ["MUJOCO_GL"] == renderer.backend
    assert os.environ.get("PYOPENGL_PLATFORM", renderer.backend) == renderer.backend
    assert str(renderer) == f"{renderer.backend} ({renderer.device})"
    assert renderer.device


def test_worlds_that_draw_themselves_need_no_probe(monkeypatch):
    """Pygame only must not look for a screen."""
    tried = answer(monkeypatch, {})
    assert find_renderer(load_benchmark("tworoom")) == OWN
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"
    assert tried == []


def test_a_choice_of_the_user_is_tried_alone(monkeypatch):
    """And if it fails, it is said, not replaced."""
    tried = answer(monkeypatch, {"egl": "a card"})
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    message = (
        "MuJoCo cannot draw here (osmesa: no such library). "
        "Unset MUJOCO_GL to have one chosen."
    )
    with pytest.raises(WorldError, match=f"^{re.escape(message)}$"):
        find_mujoco_renderer()
    assert tried == ["osmesa"]
    assert os.environ["MUJOCO_GL"] == "osmesa"


def test_the_next_backend_is_tried(monkeypatch):
    """On Linux EGL, then OSMesa; a window only where there is a screen."""
    monkeypatch.setattr(rendering.sys, "platform", "linux")
    tried = answer(monkeypatch, {"osmesa": "llvmpipe"})
    assert find_mujoco_renderer() == Renderer("osmesa", "llvmpipe")
    assert tried == ["egl", "osmesa"]
    assert os.environ["PYOPENGL_PLATFORM"] == "osmesa"


def test_elsewhere_there_is_a_screen(monkeypatch):
    """macOS and Windows draw through their window system."""
    monkeypatch.setattr(rendering.sys, "platform", "darwin")
    tried = answer(monkeypatch, {"glfw": "Apple"})
    assert find_mujoco_renderer().backend == "glfw"
    assert tried == ["glfw"]
    assert "PYOPENGL_PLATFORM" not in os.environ


def test_no_renderer_at_all_is_told_with_a_cure(monkeypatch):
    """Each backend with its own reason."""
    monkeypatch.setattr(rendering.sys, "platform", "linux")
    answer(monkeypatch, {})
    message = (
        "MuJoCo cannot draw here (egl: no such library; osmesa: no such library). "
        "Install a software renderer: apt install libegl1 libgl1 libgles2 (EGL) "
        "or libosmesa6 (OSMesa)."
    )
    with pytest.raises(WorldError, match=f"^{re.escape(message)}$"):
        find_mujoco_renderer()


def test_a_renderer_that_hangs_is_given_up(monkeypatch):
    """After the time limit."""

    def hang(*arguments, timeout, **others):
        raise subprocess.TimeoutExpired("python", timeout)

    monkeypatch.setattr(rendering.subprocess, "run", hang)
    assert probe("egl") == (None, "no picture within 60 s")


def test_a_backend_nobody_knows_says_why():
    """MuJoCo's own words."""
    renderer, complaint = probe("crayons")
    assert renderer is None
    assert "crayons" in complaint


def test_variables_that_contradict_each_other_are_noticed(monkeypatch):
    """Before MuJoCo stumbles over them."""
    monkeypatch.setenv("PYOPENGL_PLATFORM", "glx")
    complaint = "PYOPENGL_PLATFORM=glx contradicts it; unset that"
    assert probe("egl") == (None, complaint)


def test_mujoco_imported_too_early_is_noticed(monkeypatch):
    """It chooses for itself then, and cannot be told otherwise."""
    context = type("GLContext", (), {"__module__": "mujoco.glfw"})
    early = SimpleNamespace(GLContext=context)
    monkeypatch.setitem(rendering.sys.modules, "mujoco", early)
    monkeypatch.setattr(rendering.sys, "platform", "linux")
    answer(monkeypatch, {"egl": "a card"})
    message = (
        "mujoco was imported before a renderer was chosen and is bound to glfw, but "
        "egl is what draws here. Set MUJOCO_GL=egl beforehand."
    )
    with pytest.raises(WorldError, match=f"^{re.escape(message)}$"):
        find_mujoco_renderer()


def test_workers_adopt_what_their_parent_found(monkeypatch):
    """Without trying again."""
    tried = answer(monkeypatch, {})
    adopt(Renderer("egl", "a card"))
    assert os.environ["MUJOCO_GL"] == os.environ["PYOPENGL_PLATFORM"] == "egl"
    assert find_mujoco_renderer() == Renderer("egl", "a card")
    adopt(OWN)
    assert tried == []

"""Which renderer MuJoCo draws with: chosen by platform, tried out, written down."""

import os
import subprocess
import sys
from dataclasses import dataclass

from metro.benchmark import Benchmark
from metro.errors import WorldError

_TIME_LIMIT = 60.0
"""Seconds to draw one small picture in a fresh process; a good one takes two."""

_PROBE = """
import mujoco
model = mujoco.MjModel.from_xml_string(
    "<mujoco><worldbody><light/><geom size='1'/></worldbody></mujoco>"
)
camera = mujoco.Renderer(model, 16, 16)
state = mujoco.MjData(model)
mujoco.mj_forward(model, state)
camera.update_scene(state)
assert camera.render().max() > 0, "the picture is black"
from OpenGL import GL
print("drawn by", GL.glGetString(GL.GL_RENDERER).decode())
"""


@dataclass(frozen=True)
class Renderer:
    """What draws: a backend of MuJoCo and the device behind it."""

    backend: str
    """Value of ``MUJOCO_GL``; ``software`` for environments that draw by themselves."""
    device: str

    def __str__(self) -> str:
        return f"{self.backend} ({self.device})"


_found: list[Renderer] = []
"""What `find_mujoco_renderer` found in this process, or its parent did."""

OWN = Renderer("software", "the environment draws by itself")


def find_renderer(benchmark: Benchmark) -> Renderer:
    """Return what the environment of ``benchmark`` is drawn by, after trying it."""
    _go_headless()
    return find_mujoco_renderer() if benchmark.renderer == "mujoco" else OWN


def find_mujoco_renderer() -> Renderer:
    """Return the first backend that draws here, and leave the environment set to it.

    A choice of the user (``MUJOCO_GL``) is tried alone. What was found once is not
    tried again.
    """
    if not _found:
        renderer = _try_out(os.environ.get("MUJOCO_GL", "").lower())
        _require_unbound(renderer.backend)
        adopt(renderer)
    return _found[0]


def _try_out(chosen: str) -> Renderer:
    complaints = []
    for backend in [chosen] if chosen else _candidates():
        renderer, complaint = probe(backend)
        if renderer is not None:
            return renderer
        complaints.append(f"{backend}: {complaint}")
    cure = (
        "Unset MUJOCO_GL to have one chosen."
        if chosen
        else "Install a software renderer: apt install libegl1 libgl1 libgles2 (EGL) "
        "or libosmesa6 (OSMesa)."
    )
    raise WorldError(f"MuJoCo cannot draw here ({'; '.join(complaints)}). {cure}")


def probe(backend: str) -> tuple[Renderer | None, str]:
    """Return the renderer behind a backend, or None and why it does not draw."""
    if os.environ.get("PYOPENGL_PLATFORM", backend) != backend:
        platform = os.environ["PYOPENGL_PLATFORM"]
        if backend in ("egl", "osmesa"):
            return None, f"PYOPENGL_PLATFORM={platform} contradicts it; unset that"
    environment = os.environ | _variables(backend)
    try:
        # In another process: a backend that fails may end it, or bind MuJoCo for good.
        ran = subprocess.run(
            [sys.executable, "-c", _PROBE],
            env=environment,
            capture_output=True,
            text=True,
            timeout=_TIME_LIMIT,
        )
    except subprocess.TimeoutExpired:
        return None, f"no picture within {_TIME_LIMIT:g} s"
    if ran.returncode:
        return None, (ran.stderr.strip().splitlines() or ["it crashed"])[-1]
    return Renderer(backend, ran.stdout.strip().removeprefix("drawn by ")), ""


def adopt(renderer: Renderer) -> None:
    """Make this process and its children draw with ``renderer``, untried."""
    _go_headless()
    if renderer != OWN:
        os.environ.update(_variables(renderer.backend))
        _found[:] = [renderer]


def _require_unbound(backend: str) -> None:
    """Raise if MuJoCo was imported before and took to another backend for good."""
    context = getattr(sys.modules.get("mujoco"), "GLContext", None)
    bound = getattr(context, "__module__", f"mujoco.{backend}").split(".")[-1]
    if bound != backend:
        raise WorldError(
            f"mujoco was imported before a renderer was chosen and is bound to "
            f"{bound}, but {backend} is what draws here. Set MUJOCO_GL={backend} "
            f"beforehand."
        )


def _candidates() -> list[str]:
    if sys.platform != "linux":
        return ["glfw"]
    return ["egl", "osmesa", *(["glfw"] if _has_display() else [])]


def _variables(backend: str) -> dict[str, str]:
    variables = {"MUJOCO_GL": backend}
    if backend in ("egl", "osmesa"):
        variables["PYOPENGL_PLATFORM"] = backend
    return variables


def _has_display() -> bool:
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _go_headless() -> None:
    """Keep pygame from looking for a screen where there is none."""
    if sys.platform == "linux" and not _has_display():
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

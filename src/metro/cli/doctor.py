"""``metro doctor``: what works on this machine, and what to do about the rest.

Every check runs in a process of its own with a time limit, so that a renderer that
hangs or a library that crashes takes nothing else with it.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from metro.benchmark import benchmark_names
from metro.types import Progress

_TIME_LIMIT = 120.0
"""Seconds for one check; the slowest takes ten, and a minute on a busy machine."""

_FREE_BYTES = 2e9
"""Disk space that a corpus for a small model, its latents and its graph need."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    name: str
    ok: bool
    detail: str
    cure: str
    """What to do; empty if nothing is wrong."""


@dataclass(frozen=True)
class Check:
    """One check: ``look`` returns what it found, or raises."""

    look: Callable[[], str]
    cure: str


def examine(
    names: list[str] | None = None,
    *,
    time_limit: float = _TIME_LIMIT,
    progress: Progress | None = None,
) -> list[Finding]:
    """Return one finding per check, in a fixed order; None: all of `CHECKS`."""
    names = list(CHECKS) if names is None else names
    findings: list[Finding] = []
    # Few at once: checks that crowd each other would run into the time limit.
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as threads:
        for finding in threads.map(lambda name: _run(name, time_limit), names):
            findings.append(finding)
            if progress is not None:
                progress(len(findings), len(names))
    return findings


def look(name: str) -> None:
    """Carry out one check in this process: prints what it found, or raises."""
    # On a line of its own: libraries may have printed without a line break.
    sys.stdout.write(f"\n{CHECKS[name].look()}\n")


def _run(name: str, time_limit: float) -> Finding:
    program = f"from metro.cli.doctor import look; look({name!r})"
    cure = CHECKS[name].cure
    try:
        ran = subprocess.run(
            # The error is the last line; a warning on the way out would take its place.
            [sys.executable, "-W", "ignore", "-c", program],
            capture_output=True,
            text=True,
            timeout=time_limit,
        )
    except subprocess.TimeoutExpired:
        patience = f"Try again when the machine is less busy. If it hangs again: {cure}"
        return Finding(name, False, f"no answer within {time_limit:g} s", patience)
    lines = (ran.stderr if ran.returncode else ran.stdout).strip().splitlines()
    detail = lines[-1] if lines else f"it ended with exit code {ran.returncode}"
    if ran.returncode:
        return Finding(name, False, detail.removeprefix("metro.errors."), cure)
    return Finding(name, True, detail, "")


def _look_at_python() -> str:
    return f"Python {sys.version.split()[0]} at {sys.executable}"


def _look_at_torch() -> str:
    from metro import compat

    vision = compat.import_torchvision()
    import torch

    words = f"torch {torch.__version__}, torchvision {vision.__version__}"
    if compat.was_mended():
        words += " (built for another torch; metro works around it)"
    return words


def _look_at_swm() -> str:
    from importlib.metadata import version

    from metro.compat import import_swm

    import_swm()
    return f"stable-worldmodel {version('stable-worldmodel')}"


def _look_at_renderer() -> str:
    from metro.envs.rendering import find_mujoco_renderer

    return f"MuJoCo draws by {find_mujoco_renderer()}"


def _look_at_arithmetic() -> str:
    """Return whether this machine computes what others do, to the last bit."""
    from metro.envs.cpu_determinism import common_arithmetic, is_common

    if not common_arithmetic():
        return "this processor's own; latents may differ from others' in the last bit"
    if is_common():
        return "that of all x86 processors: latents and rows are the same on each"
    exports = " ".join(f"{k}={v!r}" for k, v in common_arithmetic().items())
    return (
        "recordings have the same bytes on all x86 processors, latents and rows may "
        f"differ in the last bit; if that matters: export {exports}"
    )


def _look_at_disk() -> str:
    free = shutil.disk_usage(Path.cwd()).free
    if not os.access(Path.cwd(), os.W_OK):
        raise RuntimeError(f"{Path.cwd()} cannot be written to")
    if free < _FREE_BYTES:
        raise RuntimeError(f"only {free / 1e9:.1f} GB free in {Path.cwd()}")
    return f"{free / 1e9:.0f} GB free in {Path.cwd()}"


def _look_at_models() -> str:
    from metro.assets import asset_names, macro_asset_names
    from metro.models.loading import load_model
    from metro.models.macro.macro_weights import load_macro

    for name in asset_names():
        load_model(name)
    for name in macro_asset_names():
        load_macro(name)
    return f"{len(asset_names()) + len(macro_asset_names())} shipped models load"


def _look_at_env(name: str) -> str:
    """Reset, step, render and restore an environment, and time the rendering."""
    from time import perf_counter

    import numpy as np

    from metro.benchmark import load_benchmark
    from metro.envs import open_env
    from metro.envs.rendering import find_renderer
    from metro.errors import WorldError

    benchmark = load_benchmark(name)
    find_renderer(benchmark)
    env = open_env(benchmark, image_size=64, rendering=benchmark.renderings[-1])
    env.reset(0)
    row = env.get_state()
    env.step(np.full(env.action_size, 0.5, np.float32))
    env.set_state(row)
    env.set_goal(row)
    if not env.is_solved():
        raise WorldError("a restored state is not the state that was recorded")
    env.render()  # the first one also sets the camera up
    started = perf_counter()
    picture = env.render()
    took = perf_counter() - started
    env.close()
    # A renderer without a driver draws one colour and raises nothing.
    if np.ptp(picture) == 0:
        raise WorldError("its picture is empty")
    return f"resets, steps, draws ({1000 * took:.1f} ms) and restores a state"


def _env_check(name: str) -> Check:
    return Check(
        lambda: _look_at_env(name),
        'Install its libraries: pip install "metro-wm[swm]"; if drawing fails, cure '
        "the renderer first.",
    )


CHECKS = {
    "python": Check(_look_at_python, "Install Python 3.11 or newer."),
    "torch": Check(
        _look_at_torch,
        "Install a matching pair: pip install torch torchvision "
        "--index-url https://download.pytorch.org/whl/cpu",
    ),
    "stable-worldmodel": Check(_look_at_swm, 'pip install "metro-wm[swm]"'),
    "renderer": Check(
        _look_at_renderer,
        "Unset MUJOCO_GL, or install a software renderer: apt install libegl1 libgl1.",
    ),
    **{name: _env_check(name) for name in benchmark_names()},
    "arithmetic": Check(_look_at_arithmetic, 'pip install "metro-wm[swm]"'),
    "models": Check(_look_at_models, 'Install again: pip install "metro-wm[swm]"'),
    "disk": Check(_look_at_disk, "Free some space, or work in another folder."),
}

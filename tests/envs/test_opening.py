"""Laws of `metro.envs.opening`: what can be opened, and what is never closed."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from metro.benchmark import load_benchmark
from metro.envs import open_env
from metro.errors import WorldError

PROGRAM = """
from metro.benchmark import load_benchmark
from metro.envs import open_env
worlds = []
for rendering in ("stock", "fast"):
    worlds.append(open_env(load_benchmark({name!r}), rendering=rendering))
    worlds[-1].render()
worlds[1].close()
worlds[1].close()
print("open")
"""


@pytest.mark.parametrize("name", ["reacher", "cube"])
def test_a_world_left_open_leaves_in_silence(name):
    """MuJoCo's drawing contexts complain if they outlive their display."""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM.format(name=name)],
        capture_output=True,
        text=True,
    )
    assert (ran.stdout, ran.returncode) == ("open\n", 0), ran.stderr
    assert "__del__" not in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.fixture(scope="module")
def benchmark():
    """The benchmark as it is in benchmarks/."""
    return load_benchmark("tworoom")


def test_there_is_no_fast_rendering(benchmark):
    """Its own is fast enough."""
    message = "tworoom cannot be rendered 'fast'. It can be rendered stock."
    with pytest.raises(WorldError, match=f"^{re.escape(message)}$"):
        open_env(benchmark, rendering="fast")


def test_a_world_that_metro_does_not_have_is_told(benchmark):
    """A TOML file is not enough."""
    message = (
        "metro has no environment for the benchmark 'maze'. "
        "It has cube, pusht, reacher, tworoom."
    )
    with pytest.raises(WorldError, match=f"^{re.escape(message)}$"):
        open_env(replace(benchmark, name="maze"))


@pytest.mark.parametrize("image_size", [0, 7, 225])
def test_sizes_beyond_reason_are_refused(benchmark, image_size):
    """With those that make sense."""
    message = (
        f"image_size must be 8 to 224 pixels, got {image_size}. "
        "Released models take 224, small ones 64."
    )
    with pytest.raises(WorldError, match=f"^{re.escape(message)}$"):
        open_env(benchmark, image_size=image_size)

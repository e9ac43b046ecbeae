"""Worlds that nobody closes, and worlds that are closed twice."""

import subprocess
import sys

import pytest

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

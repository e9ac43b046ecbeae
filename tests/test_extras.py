"""Tests are left out where an extra is missing, and never without anybody noticing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from extras import HEAVY, NEEDED, VARIABLE, complaint, missing_modules

ROOT = Path(__file__).parents[1]

HIDING = """
import sys
from importlib import util
find = util.find_spec
util.find_spec = lambda name, *more: None if name == "mujoco" else find(name, *more)
import pytest
sys.exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "tests"]))
"""


def collect(tmp_path, **variables):
    """Collect the tests in a process that does not find MuJoCo."""
    program = tmp_path / "hiding.py"
    program.write_text(HIDING)
    others = {name: value for name, value in os.environ.items() if name != VARIABLE}
    return subprocess.run(
        [sys.executable, program],
        cwd=ROOT,
        env=others | variables,
        capture_output=True,
        text=True,
    )


def test_a_missing_extra_leaves_its_tests_out(tmp_path):
    """All of them, and the others stay."""
    ran = collect(tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "tests/test_extras.py" in ran.stdout
    assert "tests/envs" not in ran.stdout


def test_where_everything_is_installed_it_is_an_error(tmp_path):
    """``make test`` does not pass by leaving tests out."""
    ran = collect(tmp_path, **{VARIABLE: "1"})
    assert ran.returncode == pytest.ExitCode.USAGE_ERROR
    assert complaint(["mujoco"], [VARIABLE]) in ran.stderr


def test_nothing_is_wrong_where_nothing_is_missing_or_promised():
    """Somebody without the extra may still run the tests of the core."""
    assert complaint([], [VARIABLE]) is None
    assert complaint(["mujoco"], []) is None


def test_make_test_promises_everything():
    """And what it promises is what the extra has."""
    assert f"{VARIABLE}=1 $(BIN)/pytest" in (ROOT / "Makefile").read_text()
    if VARIABLE in os.environ:
        assert missing_modules() == []
    assert len(set(NEEDED)) == len(NEEDED)


def test_no_test_of_worlds_and_models_skips_itself():
    """One place decides: a skip in a file would hide our own broken imports."""
    skips = re.compile(r"importorskip|pytest\.skip\(|skipif")
    files = [f for room in HEAVY for f in (ROOT / "tests" / room).rglob("test_*.py")]
    assert [file.name for file in files if skips.search(file.read_text())] == []

"""The doctor: one finding a check, and no check that takes the others with it."""

import pytest

from metro.cli import doctor
from metro.cli.doctor import CHECKS, Finding, examine
from metro.envs.cpu_determinism import common_arithmetic


def test_everything_of_the_issue_is_looked_at():
    """Each with something to do if it fails."""
    assert list(CHECKS) == [
        *("python", "torch", "stable-worldmodel", "renderer"),
        *("cube", "pusht", "reacher", "tworoom", "arithmetic", "models", "disk"),
    ]
    assert all(check.cure for check in CHECKS.values())


def test_this_machine_is_sound_where_it_is_quick_to_see():
    """Findings come in the order of the checks."""
    reports = []
    names = ["python", "renderer", "tworoom", "disk"]
    findings = examine(names, progress=lambda *report: reports.append(report))
    assert [finding.name for finding in findings] == names
    assert all(finding.ok for finding in findings), findings
    assert all(finding.cure == "" for finding in findings)
    assert findings[2].detail.startswith("resets, steps, draws (")
    assert reports[-1] == (4, 4)


def test_a_failure_is_a_finding_with_a_cure(monkeypatch):
    """The last line of the error, and what to do; other checks go on."""
    monkeypatch.setenv("MUJOCO_GL", "crayons")
    monkeypatch.delenv("PYOPENGL_PLATFORM", raising=False)
    broken, sound = examine(["renderer", "python"])
    assert not broken.ok
    assert broken.detail.startswith("WorldError: MuJoCo cannot draw here (crayons: ")
    assert broken.cure == CHECKS["renderer"].cure
    assert sound.ok


def test_a_check_that_hangs_is_given_up():
    """After its time limit; the machine may only be busy."""
    finding = examine(["python"], time_limit=0.001)[0]
    assert finding == Finding(
        "python",
        False,
        "no answer within 0.001 s",
        "Try again when the machine is less busy. If it hangs again: "
        "Install Python 3.11 or newer.",
    )


def test_a_check_that_crashes_is_a_finding(monkeypatch):
    """Even without a word."""
    monkeypatch.setattr(doctor.sys, "executable", "/bin/false")
    finding = examine(["python"])[0]
    assert not finding.ok
    assert finding.detail == "it ended with exit code 1"


def test_little_room_is_told(monkeypatch):
    """Before a recording fills the disk."""
    monkeypatch.setattr(doctor, "_FREE_BYTES", 1e30)
    with pytest.raises(RuntimeError, match=r"^only [\d.]+ GB free in "):
        doctor.look("disk")


def test_looking_prints_what_was_seen(capsys):
    """On a line of its own, after whatever libraries say."""
    doctor.look("python")
    assert capsys.readouterr().out.startswith("\nPython 3.")


def test_arithmetic_is_told_with_what_to_export(monkeypatch):
    """Same latents on another machine: how, or that there is nothing to do."""
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    told = doctor._look_at_arithmetic()
    wanted = common_arithmetic()
    assert all(f"{name}='{value}'" in told for name, value in wanted.items())
    for name, value in wanted.items():
        monkeypatch.setenv(name, value)
    assert doctor._look_at_arithmetic().startswith(
        "that of all x86" if wanted else "this processor's own"
    )
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert doctor._look_at_arithmetic().startswith("this processor's own; latents")


def test_environments_are_checked_in_full():
    """Reset, step, draw and restore, here of TwoRoom."""
    assert doctor._look_at_env("tworoom").endswith("and restores a state")


def test_torch_and_models_are_looked_at():
    """In this process, as the subprocess would."""
    assert doctor._look_at_torch().startswith("torch 2.")
    assert doctor._look_at_swm().startswith("stable-worldmodel ")
    assert doctor._look_at_models().endswith("shipped models load")
    assert doctor._look_at_renderer().startswith("MuJoCo draws by ")

"""Laws of `metro.envs.cpu_determinism`."""

import os

from metro.envs.cpu_determinism import (
    common_arithmetic,
    for_children,
    is_common,
)


def test_the_arithmetic_of_recordings_is_for_children_only(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    monkeypatch.delenv("NPY_DISABLE_CPU_FEATURES", raising=False)
    wanted = common_arithmetic()
    with for_children():
        assert is_common()
        assert {name: os.environ.get(name) for name in wanted} == wanted
    assert os.environ["OPENBLAS_CORETYPE"] == "Zen"
    assert "NPY_DISABLE_CPU_FEATURES" not in os.environ


def test_other_machines_agree_on_nothing(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert common_arithmetic() == {}
    assert is_common()

"""What is to be recorded: refused if it cannot be, described if it can."""

import json
from importlib.metadata import version

import pytest

from metro.benchmark import load_benchmark
from metro.data.collect.spec import RecordingSpec, library_versions
from metro.data.collect.variants import find_variants
from metro.errors import BenchmarkError
from metro.version import __version__

RECIPE = next(iter(find_variants("tworoom")))


def spec(**changed):
    """Return settings of TwoRoom, some of them changed."""
    settings = {"episodes": 3, "seed": 4, "recipe": RECIPE, "image_size": 32}
    settings |= {"rendering": "stock", "steps": 5} | changed
    return RecordingSpec(load_benchmark("tworoom"), **settings)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"episodes": 0}, "episodes must be 1 or more, got 0."),
        ({"steps": -2}, "steps must be 1 or more, got -2."),
        ({"seed": -1}, "seed must be 0 or more, got -1."),
        (
            {"recipe": "dance"},
            "tworoom has no recipe 'dance'. It has "
            f"{', '.join(find_variants('tworoom'))}.",
        ),
    ],
)
def test_what_cannot_be_recorded_is_refused(changed, text):
    """A wrong number or name is refused in one sentence that repeats it."""
    with pytest.raises(BenchmarkError) as told:
        spec(**changed)
    assert str(told.value) == text


def test_every_setting_is_described():
    """The description is JSON of all fields, the benchmark by name."""
    told = json.loads(spec().describe("egl"))
    assert told.pop("versions") == library_versions()
    assert told == {
        "benchmark": "tworoom",
        "episodes": 3,
        "image_size": 32,
        "recipe": RECIPE,
        "renderer": "egl",
        "rendering": "stock",
        "seed": 4,
        "steps": 5,
    }


def test_equal_settings_have_equal_descriptions():
    """The same settings give the same text, and another seed another text."""
    assert spec().describe("egl") == spec().describe("egl")
    assert spec().describe("egl") != spec(seed=5).describe("egl")


def test_versions_are_of_what_is_installed():
    """Versions are of metro and of installed libraries; an absent one is left out."""
    found = library_versions()
    assert found.pop("metro-wm") == __version__
    assert found == {name: version(name) for name in found}
    assert "mujoco" in found


def test_an_absent_library_is_left_out(monkeypatch):
    """A library that is not installed has no version, and is no error."""
    monkeypatch.setattr("metro.data.collect.spec._LIBRARIES", ("no-such-library",))
    assert library_versions() == {"metro-wm": __version__}

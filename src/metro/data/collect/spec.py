"""What is to be recorded: all settings that the bytes of a corpus depend on."""

import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from metro.benchmark import Benchmark
from metro.data.collect.variants import find_variant
from metro.envs import check_drawing
from metro.errors import BenchmarkError
from metro.version import __version__

_LIBRARIES = ("stable-worldmodel", "torch", "mujoco", "dm-control", "ogbench", "pymunk")
"""Libraries whose versions physics and pictures depend on."""


@dataclass(frozen=True)
class RecordingSpec:
    """All settings of a recording; the same settings give the same rows."""

    benchmark: Benchmark
    episodes: int
    seed: int
    recipe: str
    image_size: int
    """Pixels along a side."""
    rendering: str
    steps: int
    """Most environment steps of an episode."""

    def __post_init__(self) -> None:
        find_variant(self.benchmark.name, self.recipe)
        check_drawing(self.benchmark, self.image_size, self.rendering)
        for name in ("episodes", "steps"):
            if getattr(self, name) < 1:
                raise BenchmarkError(
                    f"{name} must be 1 or more, got {getattr(self, name)}."
                )
        if self.seed < 0:
            raise BenchmarkError(f"seed must be 0 or more, got {self.seed}.")

    def describe(self, renderer: str) -> str:
        """Return all of it as JSON, with the renderer and the versions of libraries."""
        described = vars(self) | {"benchmark": self.benchmark.name}
        described |= {"renderer": renderer, "versions": library_versions()}
        return json.dumps(described, sort_keys=True)


def library_versions() -> dict[str, str]:
    """Return the versions of metro and of the libraries that draw and simulate."""
    versions = {"metro-wm": __version__}
    for name in _LIBRARIES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions

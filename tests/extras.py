"""What the tests of worlds and models need, and what happens where it is missing."""

from collections.abc import Iterable
from importlib.util import find_spec

NEEDED = (
    *(
        "av",
        "cv2",
        "dm_control",
        "gymnasium",
        "h5py",
        "hdf5plugin",
        "matplotlib",
        "mujoco",
    ),
    *("ogbench", "pygame", "pymunk", "safetensors", "stable_worldmodel", "torch"),
    "transformers",
)
"""The modules of the ``[swm]`` extra."""

HEAVY = (
    *("cli", "data", "docs", "envs", "evaluation", "models", "planners", "studies"),
    "report/drawing",
)
"""Folders of tests that need all of them, and are left out as a whole without."""

VARIABLE = "METRO_ALL_EXTRAS"
"""Set by ``make test``, which installs everything: nothing may be left out then."""


def missing_modules() -> list[str]:
    """Return which modules of the extra are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def complaint(missing: list[str], variables: Iterable[str]) -> str | None:
    """Return why the tests must not start; None if they may."""
    if not missing or VARIABLE not in variables:
        return None
    return (
        f"{VARIABLE} is set, but {', '.join(missing)} is not installed, and tests "
        f'would be left out: pip install -e ".[dev,h5,swm]"'
    )

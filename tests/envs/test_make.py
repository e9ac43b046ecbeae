"""Laws of `metro.envs.make`."""

from dataclasses import replace

import pytest

from metro.benchmark import load_benchmark
from metro.envs import open_env
from metro.errors import WorldError


@pytest.fixture(scope="module")
def benchmark():
    """The benchmark as it is in benchmarks/."""
    return load_benchmark("tworoom")


def test_an_environment_that_is_not_there_names_those_that_are(benchmark):
    """For a typing error in the TOML file."""
    wrong = replace(benchmark, env_id="swm/ThreeRoom-v1")
    message = r"^There is no environment 'swm/ThreeRoom-v1'\. .*swm/TwoRoom-v1.*\.$"
    with pytest.raises(WorldError, match=message):
        open_env(wrong)

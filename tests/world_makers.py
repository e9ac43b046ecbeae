"""Worlds that tests of `metro.integrations` share."""

import pytest

from metro.benchmark import load_benchmark
from metro.envs import open_env


def world_fixture(name, **settings):
    """Return a fixture: one world for all tests of a file, closed after them."""

    @pytest.fixture(scope="module")
    def world():
        opened = open_env(load_benchmark(name), **settings)
        yield opened
        opened.close()

    return world

"""What holds for all tests of worlds and models: a renderer, chosen first of all."""

from contextlib import suppress

import pytest

from integrations.corpus_makers import make_columns
from metro.envs.rendering import find_mujoco_renderer
from metro.errors import WorldError

with suppress(WorldError):  # the tests that draw say so themselves
    find_mujoco_renderer()  # MuJoCo reads the choice when it is imported


@pytest.fixture
def columns():
    """Columns of three short episodes."""
    return make_columns()

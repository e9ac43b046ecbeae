"""A small recorded TwoRoom that the tests of planners share."""

import pytest
from bench_makers import open_tworoom


@pytest.fixture(scope="session")
def context(tworoom_folder):
    """Twelve recorded episodes, their latents and their graph."""
    with open_tworoom(tworoom_folder) as opened:
        yield opened

"""A slice of ``make fuzz``: every campaign for some seconds, with a fixed seed."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from run import FAULTS, SHARES, find_faults, run_campaign

SECONDS = 45


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("name", [name for name in SHARES if name != "verbs"])
def test_no_campaign_finds_a_fault(name):
    """Nothing crashes, nothing is lost, nothing is wrong.

    Without the verbs, whose small corpus and graph take longer than some tries.
    """
    counts = run_campaign(name, seed=7, seconds=SECONDS * SHARES[name])
    assert find_faults(counts) == {}, counts


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_is_noticed(name):
    """A count that must be zero and is not, whatever it is counted for."""
    assert find_faults({"tries": 3, f"of a file {name}": 1}) != {}


def test_a_campaign_that_tried_nothing_has_failed():
    """No try shows nothing."""
    assert find_faults({"tries": 0}) != {}

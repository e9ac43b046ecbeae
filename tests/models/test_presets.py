"""Laws of the networks' sizes."""

import json
from dataclasses import fields, replace

import pytest

from metro.benchmark import benchmark_names
from metro.errors import ModelError
from metro.models.presets import PAPER, Sizes, sizes_for, small_sizes


def test_sizes_read_from_a_file_are_the_same_key():
    """JSON turns widths into a list; sizes stay equal and hashable all the same."""
    sizes = small_sizes("tworoom")
    read = Sizes.from_json(json.loads(json.dumps(sizes.to_json())))
    assert {sizes: "found"}[read] == "found"


@pytest.mark.parametrize("name", [field.name for field in fields(Sizes)])
def test_a_missing_size_is_told(name):
    """No size is filled in by a default: that would be another network."""
    values = PAPER.to_json()
    del values[name]
    with pytest.raises(ModelError, match=f"; {name} should not be there or is miss"):
        Sizes.from_json(values)


@pytest.mark.parametrize("benchmark", benchmark_names())
@pytest.mark.parametrize("preset", ["paper", "small"])
def test_an_action_block_has_five_actions(preset, benchmark):
    """The numbers of one action times five, and nothing else of a preset changes."""
    one, three = (
        sizes_for(preset, benchmark=benchmark, action_size=size) for size in (1, 3)
    )
    assert (one.action_size, three.action_size) == (5, 15)
    assert replace(one, action_size=15) == three


def test_the_paper_preset_is_for_every_environment():
    """The published network does not depend on the benchmark, known or not."""
    assert sizes_for("paper", benchmark="chess", action_size=2) == PAPER

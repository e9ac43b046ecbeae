"""Laws of `metro.data.collect.variants`."""

import re

import pytest

from metro.benchmark import (
    load_benchmark,
)
from metro.data.collect.variants import find_variant, find_variants
from metro.errors import BenchmarkError

NAMES = ["cube", "pusht", "reacher", "tworoom"]


@pytest.mark.parametrize("name", NAMES)
def test_recipes_of_the_toml_are_those_of_the_registry(name):
    """In the same order, and each has a policy that can be made."""
    assert load_benchmark(name).recipes == tuple(find_variants(name))
    for variant in find_variants(name).values():
        policy = variant.make_policy()
        assert callable(policy.begin)
        assert callable(policy.act)


def test_an_unknown_recipe_names_the_known():
    """Of that benchmark."""
    message = "reacher has no recipe 'expert'. It has random, mixture."
    with pytest.raises(BenchmarkError, match=f"^{re.escape(message)}$"):
        find_variant("reacher", "expert")

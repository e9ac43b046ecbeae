"""Dataset variants: ways to act while a corpus is recorded.

The module ``metro.data.collect.NAME`` belongs to the benchmark NAME; its constant
``VARIANTS`` has the collection policy of each variant. The benchmark's TOML lists the
same names as ``recipes``, which is what the option ``--recipe`` takes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

from metro.errors import BenchmarkError
from metro.types import CollectionPolicy


@dataclass(frozen=True)
class Variant:
    """One way to record a benchmark."""

    make_policy: Callable[[], CollectionPolicy]
    """Returns a new policy, for one episode."""
    stops_at_goal: bool = False
    """Whether meeting the goal ends an episode before its steps are used up."""


def find_variants(benchmark_name: str) -> Mapping[str, Variant]:
    """Return all variants of a benchmark by name; the first is its default."""
    name = f"metro.data.collect.{benchmark_name}"
    if find_spec(name) is None:
        return {}
    variants: Mapping[str, Variant] = import_module(name).VARIANTS
    return variants


def find_variant(benchmark_name: str, recipe: str) -> Variant:
    """Return the variant called ``recipe``."""
    variants = find_variants(benchmark_name)
    if recipe not in variants:
        raise BenchmarkError(
            f"{benchmark_name} has no recipe {recipe!r}. It has "
            f"{', '.join(variants) or 'none'}."
        )
    return variants[recipe]

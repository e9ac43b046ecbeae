"""Recording corpora: a recipe is a way to act, named in the benchmark's TOML."""

from dataclasses import dataclass
from importlib import import_module
from typing import cast

from metro.errors import BenchmarkError
from metro.types import CollectionPolicy


@dataclass(frozen=True)
class Variant:
    """Where the collector of a recipe is, and when its episodes end."""

    class_name: str
    """In the module of this package that has the benchmark's name."""
    stops_at_goal: bool = False
    """Whether meeting the goal ends an episode before its steps are used up."""


VARIANTS = {
    "tworoom": {
        "crossing": Variant("Crossing", stops_at_goal=True),
        "expert": Variant("NoisyExpert", stops_at_goal=True),
    },
    "reacher": {
        "random": Variant("UniformTorques"),
        "mixture": Variant("TorqueMixture"),
    },
    "pusht": {
        "weak": Variant("Weak"),
        "pushes": Variant("Pusher"),
        "calm": Variant("CalmPusher"),
        "replayed": Variant("NoisyReplay"),
    },
    "cube": {
        "expert": Variant("ScriptedExpert"),
        "mixture": Variant("OffExpertMixture"),
        "planned": Variant("PlannedExpert"),
        "planned-mixture": Variant("PlannedMixture"),
    },
}
"""By benchmark and name; the first of a benchmark is its default."""


def find_recipe(benchmark_name: str, recipe: str) -> Variant:
    """Return the recipe of that name."""
    recipes = VARIANTS.get(benchmark_name, {})
    if recipe not in recipes:
        raise BenchmarkError(
            f"{benchmark_name} has no recipe {recipe!r}. It has "
            f"{', '.join(recipes) or 'none'}."
        )
    return recipes[recipe]


def make_collector(benchmark_name: str, recipe: str) -> CollectionPolicy:
    """Return a new collector, for one episode."""
    class_name = find_recipe(benchmark_name, recipe).class_name
    module = import_module(f"{__name__}.{benchmark_name}")
    return cast(CollectionPolicy, getattr(module, class_name)())

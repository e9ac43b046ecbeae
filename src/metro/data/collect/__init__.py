"""Recording corpora: a recipe is a way to act, named in the benchmark's TOML."""

from dataclasses import dataclass
from importlib import import_module
from typing import cast

from metro.errors import BenchmarkError
from metro.types import Collector


@dataclass(frozen=True)
class Recipe:
    """Where the collector of a recipe is, and when its episodes end."""

    class_name: str
    """In the module of this package that has the benchmark's name."""
    stops_at_goal: bool = False
    """Whether meeting the goal ends an episode before its steps are used up."""


RECIPES = {
    "tworoom": {
        "crossing": Recipe("Crossing", stops_at_goal=True),
        "expert": Recipe("NoisyExpert", stops_at_goal=True),
    },
    "reacher": {
        "random": Recipe("UniformTorques"),
        "mixture": Recipe("TorqueMixture"),
    },
    "pusht": {
        "weak": Recipe("Weak"),
        "pushes": Recipe("Pusher"),
        "calm": Recipe("CalmPusher"),
        "replayed": Recipe("NoisyReplay"),
    },
    "cube": {
        "expert": Recipe("ScriptedExpert"),
        "mixture": Recipe("OffExpertMixture"),
        "planned": Recipe("PlannedExpert"),
        "planned-mixture": Recipe("PlannedMixture"),
    },
}
"""By benchmark and name; the first of a benchmark is its default."""


def find_recipe(benchmark_name: str, recipe: str) -> Recipe:
    """Return the recipe of that name."""
    recipes = RECIPES.get(benchmark_name, {})
    if recipe not in recipes:
        raise BenchmarkError(
            f"{benchmark_name} has no recipe {recipe!r}. It has "
            f"{', '.join(recipes) or 'none'}."
        )
    return recipes[recipe]


def make_collector(benchmark_name: str, recipe: str) -> Collector:
    """Return a new collector, for one episode."""
    class_name = find_recipe(benchmark_name, recipe).class_name
    module = import_module(f"{__name__}.{benchmark_name}")
    return cast(Collector, getattr(module, class_name)())

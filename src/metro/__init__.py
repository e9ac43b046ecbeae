"""Metro-WM: reach far goals with a frozen world model, by way of recorded frames.

The method on arrays is imported at once. Names that need torch or an environment are
loaded on first use, so that ``import metro`` stays as light as NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from metro.core.graph import FrameGraph, build_graph
from metro.core.landmarks import choose_landmarks
from metro.core.latents import Latents
from metro.core.neighbours import NeighbourTable, find_neighbours
from metro.core.planner import MetroPlanner, SubGoal, SubGoalKind
from metro.core.pricing import PricingCurve
from metro.core.search import (
    Routes,
    find_routes,
    find_routes_many,
    find_routes_to_any,
)
from metro.errors import MetroError
from metro.storage.artefacts import load, load_graph, save
from metro.storage.readers import read_latents as load_latents
from metro.types import Env, WorldModel
from metro.version import __version__

# Type checkers do not run __getattr__: lazy names would be Any.
if TYPE_CHECKING:
    from metro.data.corpus import Corpus, open_corpus
    from metro.data.encode import encode_corpus
    from metro.envs import open_env
    from metro.evaluation.queries import load_queries
    from metro.models.action_stats import ActionStats
    from metro.models.loading import load_model
    from metro.planners.cem import CEM, CEMSettings
    from metro.planners.lazy_reach import LazyReach
    from metro.planners.policy import FlatPolicy, MetroPolicy

_LAZY = {
    "ActionStats": "metro.models.action_stats",
    "CEM": "metro.planners.cem",
    "CEMSettings": "metro.planners.cem",
    "Corpus": "metro.data.corpus",
    "FlatPolicy": "metro.planners.policy",
    "LazyReach": "metro.planners.lazy_reach",
    "MetroPolicy": "metro.planners.policy",
    "encode_corpus": "metro.data.encode",
    "load_model": "metro.models.loading",
    "load_queries": "metro.evaluation.queries",
    "open_corpus": "metro.data.corpus",
    "open_env": "metro.envs",
}
"""Public names that load torch or an environment, and the module each is in."""

__all__ = [
    "ActionStats",
    "CEM",
    "CEMSettings",
    "Corpus",
    "Env",
    "FlatPolicy",
    "FrameGraph",
    "Latents",
    "LazyReach",
    "MetroError",
    "MetroPlanner",
    "MetroPolicy",
    "NeighbourTable",
    "PricingCurve",
    "Routes",
    "SubGoal",
    "SubGoalKind",
    "WorldModel",
    "__version__",
    "build_graph",
    "choose_landmarks",
    "encode_corpus",
    "find_neighbours",
    "find_routes",
    "find_routes_many",
    "find_routes_to_any",
    "load",
    "load_graph",
    "load_latents",
    "load_model",
    "load_queries",
    "open_corpus",
    "open_env",
    "save",
]


def __getattr__(name: str) -> Any:
    """Return a public name whose module is heavy, importing that module now."""
    if name not in _LAZY:
        raise AttributeError(f"module 'metro' has no attribute {name!r}")
    value = getattr(import_module(_LAZY[name]), name)
    globals()[name] = value  # the next access does not come here
    return value


def __dir__() -> list[str]:
    # Lazy names are no globals yet; completion should still offer them.
    return sorted({*globals(), *__all__})

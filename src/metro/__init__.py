"""Metro-WM: reach far goals with a frozen world model, by way of recorded frames."""

from metro.core.graph import build_graph
from metro.core.latents import Latents
from metro.core.neighbours import find_neighbours
from metro.core.planner import MetroPlanner, SubGoal, SubGoalKind
from metro.core.pricing import PricingCurve
from metro.core.search import find_routes, find_routes_many, find_routes_to_any
from metro.errors import MetroError
from metro.storage.artefacts import load, save
from metro.version import __version__

__all__ = [
    "Latents",
    "MetroError",
    "MetroPlanner",
    "PricingCurve",
    "SubGoal",
    "SubGoalKind",
    "__version__",
    "build_graph",
    "find_neighbours",
    "find_routes",
    "find_routes_many",
    "find_routes_to_any",
    "load",
    "save",
]

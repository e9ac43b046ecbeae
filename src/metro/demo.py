"""A first look without a world model: a route through two synthetic rooms."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from metro.display import print_inspection, print_journey
from metro.graph import FrameGraph, build_graph
from metro.inspection import inspect_graph
from metro.itinerary import Leg, plan_journey
from metro.neighbours import find_neighbours
from metro.planner import MetroPlanner
from metro.pricing import PricingCurve
from metro.search import find_routes
from metro.storage import save
from metro.synthetic import make_latents, make_states

_EPISODES, _LENGTH, _SEED = 120, 90, 0
_WIDE, _HIGH = 61, 21


def run_demo(output: Path, *, force: bool = False) -> None:
    """Build a graph of synthetic episodes, save it, and plan one far query."""
    console = Console()
    console.print(
        "SYNTHETIC episodes: points walking through two rooms, encoded by a random "
        "network. No world model and no environment is involved yet.\n"
    )
    latents = make_latents(
        _EPISODES * _LENGTH, state_dim=2, episode_length=_LENGTH, seed=_SEED
    )
    pricing = PricingCurve.fit(latents, waypoint_budget=8)
    graph = build_graph(latents, find_neighbours(latents), pricing)
    save(graph, output, force=force)
    print_inspection(inspect_graph(graph), str(output))

    places = make_states(_EPISODES, _LENGTH, state_dim=2, seed=_SEED).reshape(-1, 2)
    start, goal = _far_apart(places)
    held_out = int(latents.episode_of(start))
    routes = find_routes(graph, latents.z[goal], held_out=held_out)
    legs = plan_journey(routes, start)
    console.print(f"\nA far query, episode {held_out} held out:")
    print_journey(latents, start, goal, legs)
    sub_goal = MetroPlanner(routes)(latents.z[start])
    console.print(
        f"\nFirst sub-goal: frame {sub_goal.frame} ({sub_goal.kind.value}), "
        f"{sub_goal.spent:.1f} frames away, {sub_goal.cost_to_go:.1f} to the goal."
    )
    console.print(_drawing(graph, places, start, goal, legs), highlight=False)


def _far_apart(places: NDArray[np.float64]) -> tuple[int, int]:
    """Return frames in the upper left and upper right corners."""
    start = np.argmin(np.abs(places - (-0.9, 0.9)).sum(axis=1))
    goal = np.argmin(np.abs(places - (0.9, 0.9)).sum(axis=1))
    return int(start), int(goal)


def _drawing(
    graph: FrameGraph,
    places: NDArray[np.float64],
    start: int,
    goal: int,
    legs: list[Leg],
) -> str:
    """Draw where frames were recorded, and the frames of the route by episode."""
    canvas = [[" "] * _WIDE for _ in range(_HIGH)]

    def put(frame: int, mark: str) -> None:
        x, y = places[frame]
        row, column = round((1 - y) / 2 * (_HIGH - 1)), round((x + 1) / 2 * (_WIDE - 1))
        canvas[row][column] = mark

    for frame in range(0, graph.num_frames, 3):
        put(frame, "·")
    letters: dict[int, str] = {}
    for leg in legs:
        if leg.episode is not None and leg.stop is not None:
            letter = letters.setdefault(leg.episode, chr(ord("a") + len(letters) % 26))
            for frame in range(leg.stop - leg.steps, leg.stop + 1):
                put(frame, letter)
    put(start, "S")
    put(goal, "G")
    key = ", ".join(f"{letter} = episode {name}" for name, letter in letters.items())
    rows = "\n".join("".join(row) for row in canvas)
    return f"\n{rows}\n\nS start, G goal, · recorded frames; ridden: {key}"

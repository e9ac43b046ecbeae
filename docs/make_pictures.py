"""Draw the pictures of docs/concepts.md from a real recording of TwoRoom.

The latent of a frame is the agent's recorded position, so that the graph that metro
builds can be drawn over the two rooms. Run ``python docs/make_pictures.py``.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

import metro
from metro.core.pricing import gaps_in_episodes

PICTURES = Path(__file__).parent / "pictures"
EPISODES, BUDGET = 24, 8
START, GOAL = (66.0, 128.0), (178.0, 170.0)
"""Where the drive begins and ends, in pixels of TwoRoom's 224."""
STRIDE, SLIP = 5.0, 2.5
"""Pixels of a step of the drive, and standard deviation of what disturbs it."""
WINDOW, SIDE = (142.0, 60.0), 24.0
"""The part of the rooms that is shown larger, in pixels."""
INK, ROUTE, BRIDGE, AIM = "#455a64", "#00796b", "#d81b60", "#ef6c00"


def main(folder: Path = PICTURES) -> None:
    """Record, build the graph, draw and write all pictures."""
    rcParams.update({"svg.hashsalt": "metro", "font.size": 9, "axes.titlesize": 9})
    latents, room = record_rooms()
    pricing = metro.PricingCurve.fit(latents, waypoint_budget=BUDGET)
    graph = metro.build_graph(latents, metro.find_neighbours(latents), pricing)
    routes = metro.find_routes(graph, np.array(GOAL))
    folder.mkdir(exist_ok=True)
    _write(draw_graph(graph, room), folder / "graph.svg")
    _write(draw_pricing(latents, pricing), folder / "pricing.svg")
    _write(draw_search(routes, room), folder / "search.svg")
    _write(draw_walk(routes, room), folder / "walk.svg")
    _write(draw_reentry(routes, room), folder / "reentry.svg")


def record_rooms() -> tuple[metro.Latents, NDArray[np.uint8]]:
    """Return recorded positions as latents, and a picture of the two rooms."""
    from metro.benchmark import load_benchmark
    from metro.data.collect.record import record
    from metro.data.corpus import open_corpus
    from metro.report.drawing.replays import room_of

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tworoom.h5"
        tworoom = load_benchmark("tworoom")
        record(tworoom, path, episodes=EPISODES, seed=0, image_size=32)
        with open_corpus(path) as corpus:
            places = corpus.column("proprio")
            episodes = np.split(places, corpus.offsets[1:])
            here, there = ({"proprio": np.array(p, np.float32)} for p in (START, GOAL))
            # The brighter of two pictures: the agent is in neither.
            room = np.maximum(room_of(here), room_of(there))
            return metro.Latents.from_episodes(episodes), room


def draw_graph(graph: Any, room: NDArray[np.uint8]) -> Figure:
    """Return all episodes and, larger, a place where bridges join them (Eq. 4)."""
    figure = Figure((8, 4))
    whole, close = figure.subplots(1, 2)
    for axes in (whole, close):
        _show_room(axes, room)
        _draw_episodes(axes, graph.latents)
    u, v, _ = graph.bridges()
    z = graph.latents.z
    # Only what can be seen: all bridges would make the file ten times as large.
    inside = (np.abs(z - (WINDOW[0] + SIDE / 2, WINDOW[1] + SIDE / 2)) < SIDE).all(1)
    u, v = u[inside[u]], v[inside[u]]
    lines = LineCollection(list(zip(z[u], z[v], strict=True)), colors=BRIDGE, lw=0.9)
    close.add_collection(lines)
    close.scatter(*z[inside].T, s=14, color=INK, zorder=3)
    x, y = WINDOW
    close.set(xlim=(x, x + SIDE), ylim=(y + SIDE, y))
    whole.add_patch(Rectangle(WINDOW, SIDE, SIDE, fill=False, ec=BRIDGE, lw=1.5))
    whole.set_title(f"{EPISODES} recorded episodes, one line each")
    close.set_title("frames (dots), bridges (red)")
    return figure


def draw_pricing(latents: metro.Latents, pricing: metro.PricingCurve) -> Figure:
    """Return Λ with the distances it is fitted to, and one gap's price (Eq. 5)."""
    figure = Figure((6, 3.4))
    axes = figure.subplots()
    counts = np.arange(1, BUDGET + 1)
    for count in counts:
        gaps = gaps_in_episodes(latents, int(count))
        spread = np.quantile(gaps, np.linspace(0, 1, 41))
        axes.plot(np.full(41, count), spread, "_", color="#b0bec5", ms=9)
    axes.plot(counts, pricing.gaps, "o-", color=ROUTE, label="Λ(d), the 25 % quantile")
    gap = float(np.mean(pricing.gaps[4:6]))
    price = float(pricing.price(gap))
    axes.annotate("", (price, 0), (price, gap), arrowprops=_arrow())
    axes.annotate("", (price, gap), (0.4, gap), arrowprops=_arrow())
    axes.text(0.5, gap + 0.5, f"gap δ = {gap:.1f}", color=BRIDGE)
    axes.text(price + 0.1, 0.5, f"price κ(δ) = {price:.1f} frames", color=BRIDGE)
    axes.axhline(pricing.radius, color=AIM, ls="--", lw=1)
    axes.text(0.5, pricing.radius + 0.5, "radius ε = Λ(H)", color=AIM)
    axes.set(xlim=(0.4, BUDGET + 0.6), ylim=(0, 26))
    axes.set(xlabel="d, frames apart in one episode", ylabel="latent distance")
    axes.legend(frameon=False, loc="upper right")
    return figure


def draw_search(routes: Any, room: NDArray[np.uint8]) -> Figure:
    """Return every frame coloured by its cost-to-go (Eq. 6)."""
    figure, axes = _rooms(room, (5.2, 4))
    z, costs = routes.graph.latents.z, routes.cost_to_go
    known = np.isfinite(costs)
    drawn = axes.scatter(*z[known].T, s=7, c=costs[known], cmap="viridis_r")
    figure.colorbar(drawn, ax=axes, label="cost-to-go J(u), frames", shrink=0.85)
    _mark(axes, GOAL, "goal", AIM)
    return figure


def draw_walk(routes: Any, room: NDArray[np.uint8]) -> Figure:
    """Return one decision: entry (Eq. 7), walk and sub-goal (Eq. 8)."""
    figure, axes = _rooms(room, (4.6, 4.6))
    _draw_episodes(axes, routes.graph.latents)
    chosen = metro.MetroPlanner(routes)(np.array(START))
    z = routes.graph.latents.z
    rest = [chosen.frame]
    while routes.successor[rest[-1]] >= 0:
        rest.append(int(routes.successor[rest[-1]]))
    axes.plot(*np.vstack([z[rest], GOAL]).T, color=ROUTE, lw=1.4, ls=":")
    axes.plot(*z[list(chosen.path)].T, "-", color=ROUTE, lw=2.6)
    axes.plot(*np.stack([START, z[chosen.entry]]).T, color=BRIDGE, lw=2)
    _mark(axes, START, "observation", BRIDGE)
    _mark(axes, z[chosen.frame], "sub-goal", ROUTE, shift=-15)
    _mark(axes, GOAL, "goal", AIM)
    axes.set_title(
        f"{chosen.hops} hops, {chosen.spent:.1f} of H = {BUDGET} frames spent; "
        f"{chosen.cost_to_go:.0f} frames to the goal"
    )
    return figure


def draw_reentry(routes: Any, room: NDArray[np.uint8]) -> Figure:
    """Return a disturbed drive that enters the graph again and again (Alg. 1)."""
    figure, axes = _rooms(room, (4.6, 4.6))
    _draw_episodes(axes, routes.graph.latents)
    rng = np.random.default_rng(0)
    planner, place, driven = metro.MetroPlanner(routes), np.array(START), [START]
    for _ in range(40):
        aim = planner(place).latent
        _draw_aim(axes, place, aim)
        for _ in range(BUDGET // 2):
            away = aim - place
            step = away * min(1.0, STRIDE / max(float(np.linalg.norm(away)), 1e-9))
            place = place + step + rng.normal(0, SLIP, 2)
            driven.append(tuple(place))
        if np.linalg.norm(place - GOAL) < 16:
            break
    axes.plot(*np.array(driven).T, color=INK, lw=1.5)
    _mark(axes, START, "start", BRIDGE)
    _mark(axes, GOAL, "goal", AIM)
    axes.set_title("dark: driven; green: from each re-entry to its sub-goal")
    return figure


def _draw_aim(axes: Axes, place: NDArray[Any], aim: NDArray[Any]) -> None:
    axes.plot(*np.stack([place, aim]).T, color=ROUTE, lw=1)
    axes.plot(*aim, "o", color=ROUTE, ms=4)


def _rooms(room: NDArray[np.uint8], size: tuple[float, float]) -> tuple[Figure, Axes]:
    figure = Figure(size)
    axes = figure.subplots()
    _show_room(axes, room)
    return figure, axes


def _show_room(axes: Axes, room: NDArray[np.uint8]) -> None:
    # Pale, so that what is drawn over it can be seen.
    axes.imshow(room, alpha=0.35, extent=(0, 224, 224, 0))
    axes.set(xticks=[], yticks=[], xlim=(0, 224), ylim=(224, 0))


def _draw_episodes(axes: Axes, latents: metro.Latents) -> None:
    for number in range(latents.num_episodes):
        axes.plot(*latents.z[latents.rows_of(number)].T, color="#90a4ae", lw=0.6)


def _mark(axes: Axes, place: Any, text: str, colour: str, shift: float = 15) -> None:
    axes.plot(*place, "o", color=colour, ms=8, mec="white", zorder=5)
    box = {"boxstyle": "round,pad=0.2", "fc": "white", "ec": colour, "lw": 0.8}
    x, y = place[0], place[1] + shift
    axes.text(x, y, text, color=colour, ha="center", va="center", bbox=box, zorder=6)


def _arrow() -> dict[str, Any]:
    return {"arrowstyle": "->", "color": BRIDGE, "lw": 1.2}


def _write(figure: Figure, path: Path) -> None:
    figure.tight_layout()
    # Without a date the same pictures have the same bytes.
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()

"""The paper's figure: the nearest state to a sub-goal, above what metro retrieves."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metro.benchmark import load_benchmark
from metro.core.planner import MetroPlanner
from metro.data.corpus import open_corpus
from metro.envs.state_spaces import OpenAdapter
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig
from metro.evaluation.queries import Query
from metro.planners.methods.metro import METRO
from metro.report.drawing.canvas import Tile, draw_tiles
from metro.storage.artefacts import load_graph
from metro.studies.residual.targets import CONTROLS, TargetConfig, find_sub_goals

_COLUMNS = 6
_SIDE = 112
"""Pixels along a side of a picture."""


def draw_pictures(
    rows: Sequence[dict[str, Any]],
    source: EvalConfig,
    config: TargetConfig,
    path: Path,
) -> None:
    """Write a PNG: nearest states above, recorded frames below, stock rendering.

    Below a sub-goal of a hierarchical method is the frame that metro retrieves for
    the same query from the same observation, if there is a graph; else the nearest
    recorded frame. Rows with an error are left out.
    """
    kept = [row for row in rows if row["residual"] is not None]
    # One budget only: a latent must not fill two columns.
    kept = [row for row in kept if row["budget"] == kept[-1]["budget"]][:_COLUMNS]
    if not kept:
        raise BenchmarkError("No row has a state to draw: every search failed.")
    # Stock rendering, for readers' eyes, whichever one the encoder was trained on.
    opened = OpenAdapter(load_benchmark(source.benchmark), 224, "stock")
    try:
        with open_corpus(source.corpus) as corpus:
            recorded = opened.stage.read(corpus)
        frames = _frames_below(kept, source, config)
        states = [opened.stage.space.require(row["state"]) for row in kept]
        draw = opened.stage.draw
        above = [
            Tile(draw(state), (f"r = {row['residual']:.2f}",))
            for state, row in zip(states, kept, strict=True)
        ]
        below = [Tile(draw(recorded[frame]), (f"frame {frame}",)) for frame in frames]
    finally:
        opened.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    draw_tiles([above, below], _SIDE, smooth=True).save(path)


def _frames_below(
    rows: Sequence[dict[str, Any]], source: EvalConfig, config: TargetConfig
) -> list[int]:
    """Return the recorded frame to draw under each row."""
    # Controls have no query to retrieve for, and metro's sub-goals are frames already.
    if config.method in (*CONTROLS, METRO.name) or source.graph is None:
        return [_own_or_nearest(row) for row in rows]
    found = find_sub_goals(source, config)
    with source.open() as context:
        budget = config.waypoint_budget or load_graph(source.graph).waypoint_budget
        frames = []
        for row in rows:
            latent = row["latent"]
            query = Query(latent["episode"], latent["start"], latent["goal"])
            routes, _ = context.routes_for(budget, query)
            sub_goal = MetroPlanner(routes)(found.observed[latent["row"]])
            goal = context.frame_of(query.episode, query.goal)
            # Without a frame the sub-goal is the goal itself.
            frames.append(goal if sub_goal.frame is None else sub_goal.frame)
    return frames


def _own_or_nearest(row: dict[str, Any]) -> int:
    own = row["own_frame"]
    return int(row["nearest"]["frame"] if own is None else own)

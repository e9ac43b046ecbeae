"""What each planner did with one query: on the map, as a storyboard, as a video."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import Benchmark
from metro.core.itinerary import Segment, SegmentKind
from metro.envs import open_env
from metro.evaluation.batch import plan_one
from metro.evaluation.context import EvalContext
from metro.evaluation.queries import Query
from metro.evaluation.records import Setting
from metro.report.drawing.canvas import Canvas, Tile, draw_tiles, write_video
from metro.types import Image, StateColumns

_ZOOM = 7
_MILLISECONDS = 60
_SMALLEST = 96
_MOMENTS = 8
_PATH_COLOURS = ("#d62728", "#1f77b4", "#2ca02c", "#9467bd")


@dataclass(frozen=True)
class RecordedRollout:
    """One query, planned one way.

    Attributes:
        name: Name of the planner.
        frames_to_success: None: the budget ran out.
        path: ``[steps + 1, 2]`` positions of the agent, pixels of the environment.
        pictures: ``[steps + 1, S, S, 3]`` observations.
    """

    name: str
    frames_to_success: int | None
    path: NDArray[Any]
    pictures: NDArray[np.uint8]

    @property
    def result(self) -> str:
        """How it ended, in words."""
        if self.frames_to_success is None:
            return f"{self.name}: not there after {len(self.pictures) - 1} frames"
        return f"{self.name}: there after {self.frames_to_success} frames"

    def tile_at(self, step: int) -> Tile:
        """Return the observation at a step; after the last step it stays."""
        last = min(step, len(self.pictures) - 1)
        arrived = self.frames_to_success
        is_there = arrived is not None and step >= arrived
        state = f"there after {arrived} frames" if is_there else f"frame {last}"
        return Tile(self.pictures[last], (self.name, state))


def record_rollout(
    context: EvalContext, name: str, setting: Setting, query: Query
) -> RecordedRollout:
    """Plan one query again and keep what was seen; the same as in its row."""
    rollout = plan_one(context, setting, query)
    pictures = np.stack([rollout.first, *rollout.pictures])
    column = context.benchmark.map_column
    # Worlds without a map are drawn as pictures, and nobody looks at their path.
    path = np.zeros((len(pictures), 2))
    if column is not None:
        start = context.corpus.row(context.frame_of(query.episode, query.start))
        path = np.stack([start[column], *(row[column] for row in rollout.path)])
    return RecordedRollout(name, rollout.frames_to_success, path, pictures)


def render_map(benchmark: Benchmark, row: StateColumns) -> Image:
    """Return the environment at full size in the state ``row``."""
    env = open_env(benchmark)
    # What a state does not hold is then the same in every picture.
    env.reset(0)
    env.set_state(row)
    picture = env.render()
    env.close()
    return picture


def draw_map(
    background: Image,
    positions: NDArray[Any],
    segments: Sequence[Segment],
    goal: int,
    rollouts: Sequence[RecordedRollout],
    path: Path,
) -> None:
    """Draw the recorded positions and the route, beside the executed paths, as PNG.

    Positions of the agent, ``[N, 2]`` in every recorded frame, are pixels of the
    background; the goal is the frame to reach.
    """
    # Not pyplot: it keeps every figure alive, and its backend is global.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.8), layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        axes.imshow(background, alpha=0.45)
        axes.set_axis_off()
    # Every third: dots of neighbouring frames overlap anyway.
    left.scatter(*positions[::3].T, s=0.6, c="#999999", linewidths=0)
    _draw_route(left, positions, segments)
    left.set_title(_route_title(segments), fontsize=10)
    for rollout, colour in zip(rollouts, _PATH_COLOURS, strict=False):
        right.plot(*rollout.path.T, color=colour, lw=1.6, label=rollout.result)
    right.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0.02), fontsize=8, frameon=False
    )
    right.set_title("What was driven, in the real environment", fontsize=10)
    for axes in (left, right):
        _mark(axes, rollouts[0].path[0], "start", "o")
        _mark(axes, positions[goal], "goal", "*")
    figure.savefig(path)


def _mark(axes: Any, place: NDArray[Any], name: str, sign: str) -> None:
    axes.plot(*place, sign, color="black", ms=8)
    axes.annotate(name, place, xytext=(7, -11), textcoords="offset points", fontsize=9)


def _draw_route(
    axes: Any, positions: NDArray[Any], segments: Sequence[Segment]
) -> None:
    """Draw temporal segments as lines, one colour per episode, and bridges as rings."""
    colours: dict[int, str] = {}
    for segment in segments:
        if segment.start is None or segment.stop is None:
            continue
        if segment.kind is SegmentKind.TEMPORAL and segment.episode is not None:
            colour = colours.setdefault(segment.episode, f"C{len(colours) % 10}")
            followed = positions[segment.start : segment.stop + 1]
            axes.plot(*followed.T, "-", color=colour, lw=2.4)
        else:
            ends = positions[[segment.start, segment.stop]]
            axes.plot(*ends.T, "o", mfc="none", mec="black", ms=5, lw=0)


def _route_title(segments: Sequence[Segment]) -> str:
    if not segments:
        return "No route"
    bridges = sum(one.kind is SegmentKind.BRIDGE for one in segments)
    episodes = {one.episode for one in segments if one.kind is SegmentKind.TEMPORAL}
    return (
        f"The route: {segments[-1].total:.0f} frames, {len(episodes)} recorded "
        f"episodes, {bridges} bridges"
    )


def draw_rollouts(rollouts: Sequence[RecordedRollout], goal: Image, path: Path) -> None:
    """Draw a row of evenly spaced moments per planner, beside the goal, as PNG."""
    rows = []
    for rollout in rollouts:
        last = len(rollout.pictures) - 1
        steps = np.linspace(0, last, _MOMENTS).round().astype(int)
        first, *others = (rollout.pictures[step] for step in steps)
        tiles = [Tile(first, (rollout.result,)), *map(Tile, others)]
        rows.append([*tiles, Tile(goal, ("the goal",))])
    draw_tiles(rows, max(_SMALLEST, goal.shape[0]), smooth=True).save(path)


def write_rollout_video(
    rollouts: Sequence[RecordedRollout], goal: Image, path: Path
) -> None:
    """Write a GIF: what each planner saw, side by side, and the goal."""
    length = max(len(rollout.pictures) for rollout in rollouts)
    # Every second frame halves the file, and motion stays smooth.
    frames = [_video_frame(rollouts, goal, step) for step in range(0, length, 2)]
    # The end stays for a second, so that it can be read before the video repeats.
    write_video([*frames, *[frames[-1]] * 15], path, _MILLISECONDS)


def _video_frame(rollouts: Sequence[RecordedRollout], goal: Image, step: int) -> Canvas:
    tiles = [*(rollout.tile_at(step) for rollout in rollouts), Tile(goal, ("goal",))]
    return draw_tiles([tiles], goal.shape[0] * _ZOOM, gap=6)

"""Pictures of a query: the route on the map, and what each planner did in the world."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.itinerary import Segment, SegmentKind
from metro.types import Image

_ZOOM = 7
_MILLISECONDS = 60
_CAPTION = 26
_FILM_CAPTION = 44
_MOMENTS = 8
_PATH_COLOURS = ("#d62728", "#1f77b4", "#2ca02c", "#9467bd")


@dataclass(frozen=True)
class RecordedRollout:
    """One query, planned one way.

    Attributes:
        name: Of the planner.
        plan_blocks: h.
        frames_to_success: None: the budget ran out.
        path: ``[steps + 1, 2]`` where the agent was, pixels of the world.
        pictures: ``[steps + 1, S, S, 3]`` what it saw.
    """

    name: str
    plan_blocks: int
    frames_to_success: int | None
    path: NDArray[Any]
    pictures: NDArray[np.uint8]


def draw_map(
    rides: Sequence[RecordedRollout],
    places: NDArray[Any],
    legs: Sequence[Segment],
    goal: int,
    background: Image,
    path: Path,
) -> None:
    """Draw the recorded places, the route by episode, and the executed paths.

    Args:
        rides: What each planner did.
        places: ``[N, 2]`` where the agent was in every recorded frame, pixels.
        legs: Of the route.
        goal: The frame to reach.
        background: The world without an agent, in the same pixels.
        path: The PNG file to write.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.8), layout="constrained", dpi=120)
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        axes.imshow(background, alpha=0.45)
        axes.set_axis_off()
    left.scatter(*places[::3].T, s=0.6, c="#999999", linewidths=0)
    _draw_route(left, places, legs)
    left.set_title(_route_title(legs), fontsize=10)
    for ride, colour in zip(rides, _PATH_COLOURS, strict=False):
        right.plot(*ride.path.T, color=colour, lw=1.6, label=_caption(ride))
    right.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0.02), fontsize=8, frameon=False
    )
    right.set_title("What was driven, in the real environment", fontsize=10)
    for axes in (left, right):
        _mark(axes, rides[0].path[0], "start", "o")
        _mark(axes, places[goal], "goal", "*")
    figure.savefig(path)


def _mark(axes: Any, place: NDArray[Any], name: str, sign: str) -> None:
    axes.plot(*place, sign, color="black", ms=8)
    axes.annotate(name, place, xytext=(7, -11), textcoords="offset points", fontsize=9)


def _draw_route(axes: Any, places: NDArray[Any], legs: Sequence[Segment]) -> None:
    """Draw rides as lines, one colour an episode, and bridges as rings."""
    colours: dict[int, str] = {}
    for leg in legs:
        if leg.start is None or leg.stop is None:
            continue
        if leg.kind is SegmentKind.TEMPORAL and leg.episode is not None:
            colour = colours.setdefault(leg.episode, f"C{len(colours) % 10}")
            ridden = places[leg.start : leg.stop + 1]
            axes.plot(*ridden.T, "-", color=colour, lw=2.4)
        else:
            ends = places[[leg.start, leg.stop]]
            axes.plot(*ends.T, "o", mfc="none", mec="black", ms=5, lw=0)


def _route_title(legs: Sequence[Segment]) -> str:
    if not legs:
        return "No route"
    bridges = sum(leg.kind is SegmentKind.BRIDGE for leg in legs)
    episodes = {leg.episode for leg in legs if leg.kind is SegmentKind.TEMPORAL}
    return (
        f"The route: {legs[-1].total:.0f} frames, {len(episodes)} recorded episodes, "
        f"{bridges} bridges"
    )


def _caption(ride: RecordedRollout) -> str:
    if ride.frames_to_success is None:
        return f"{ride.name}: not there after {len(ride.pictures) - 1} frames"
    return f"{ride.name}: there after {ride.frames_to_success} frames"


def draw_storyboard(rides: Sequence[RecordedRollout], goal: Image, path: Path) -> None:
    """Draw a row of moments for each planner, evenly spaced, and the goal.

    Args:
        rides: What each planner did.
        goal: ``[S, S, 3]`` the picture to reach.
        path: The PNG file to write.
    """
    from PIL import Image as Pictures
    from PIL import ImageDraw

    side = max(96, goal.shape[0])
    wide, high = (_MOMENTS + 1) * (side + 4), side + _CAPTION
    sheet = Pictures.new("RGB", (wide, len(rides) * high), "white")
    pen = ImageDraw.Draw(sheet)
    for row, ride in enumerate(rides):
        steps = np.linspace(0, len(ride.pictures) - 1, _MOMENTS).round().astype(int)
        shown = [ride.pictures[step] for step in steps] + [goal]
        for column, picture in enumerate(shown):
            size = (side, side)
            large = Pictures.fromarray(picture).resize(
                size, Pictures.Resampling.BICUBIC
            )
            sheet.paste(large, (column * (side + 4), row * high + _CAPTION))
        pen.text((4, row * high + 6), _caption(ride), fill="black", font_size=14)
        place = (_MOMENTS * (side + 4) + 4, row * high + 6)
        pen.text(place, "the goal", fill="black", font_size=14)
    sheet.save(path)


def write_film(rides: Sequence[RecordedRollout], goal: Image, path: Path) -> None:
    """Write a GIF: what each planner saw, side by side, and the goal.

    Args:
        rides: What each planner did.
        goal: ``[S, S, 3]`` the picture to reach.
        path: The GIF file to write.
    """
    length = max(len(ride.pictures) for ride in rides)
    frames = [_film_frame(rides, goal, step) for step in range(0, length, 2)]
    frames += [frames[-1]] * 15
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=_MILLISECONDS, loop=0
    )


def _film_frame(rides: Sequence[RecordedRollout], goal: Image, step: int) -> Any:
    from PIL import Image as Pictures
    from PIL import ImageDraw

    views = [(ride.name, _at(ride, step), _state(ride, step)) for ride in rides]
    views.append(("goal", goal, ""))
    side = goal.shape[0] * _ZOOM
    sheet = Pictures.new(
        "RGB", (len(views) * (side + 6) - 6, side + _FILM_CAPTION), "white"
    )
    pen = ImageDraw.Draw(sheet)
    for number, (name, picture, state) in enumerate(views):
        left = number * (side + 6)
        shown = Pictures.fromarray(picture).resize(
            (side, side), Pictures.Resampling.NEAREST
        )
        sheet.paste(shown, (left, _FILM_CAPTION))
        for line, text in enumerate((name, state)):
            pen.text((left + 4, 6 + 18 * line), text, fill="black", font_size=14)
    return sheet


def _at(ride: RecordedRollout, step: int) -> Image:
    picture: Image = ride.pictures[min(step, len(ride.pictures) - 1)]
    return picture


def _state(ride: RecordedRollout, step: int) -> str:
    if ride.frames_to_success is not None and step >= ride.frames_to_success:
        return f"there after {ride.frames_to_success} frames"
    return f"frame {min(step, len(ride.pictures) - 1)}"

"""A route as a video: its recorded frames one after another, beside the goal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.itinerary import SegmentKind
from metro.data.corpus import Corpus
from metro.report.drawing.canvas import Canvas, Colours, resize, write_video
from metro.report.drawing.keyframes import Keyframe, Storyboard
from metro.types import Image

MARGIN, BORDER = 20, 5
WORDS = {
    SegmentKind.TEMPORAL: "follow",
    SegmentKind.BRIDGE: "bridge",
    SegmentKind.ENTER: "enter",
    SegmentKind.ARRIVE: "arrive",
}
"""Names of segments in pictures."""

_OUTLINE = 4
_SMALLEST = 112
_HELD, _PASSED = 900, 90
"""Milliseconds that a bridge's end, and any other frame, is shown."""


def write_route_video(board: Storyboard, corpus: Corpus, path: Path) -> None:
    """Write a GIF: the route frame by frame, beside its goal; bridges stay longer."""
    read, ends = frame_reader(corpus), (board.keyframes[0], board.keyframes[-1])
    goal = read(ends[1])
    frames, times = [], []
    for now in board.keyframes:
        frames.append(_video_frame(board, now, read(now), goal))
        times.append(_HELD if now.is_bridge_end or now in ends else _PASSED)
    write_video(frames, path, times)


def _video_frame(
    board: Storyboard, now: Keyframe, picture: Image, goal: Image
) -> Canvas:
    """Return one frame of the video: where we are, the goal, how far it is."""
    side = 2 * enlarged(picture.shape[0])
    outer, top = side + 2 * BORDER, 40
    right, below = 2 * MARGIN + outer, top + outer + 12
    canvas = Canvas((2 * outer + 3 * MARGIN, side + 124))
    word = "start" if now.reached_by is None else WORDS[now.reached_by]
    canvas.write((MARGIN, 12), f"{word}: episode {now.episode}, frame {now.frame}", 15)
    colour = board.colours[now.episode]
    draw_frame(canvas, (MARGIN, top), now, colour, resize(picture, side))
    canvas.write((right, 12), "the goal", 15)
    canvas.paste(resize(goal, side), (right + BORDER, top + BORDER))
    costs = f"{now.paid:.1f} frames paid, {now.to_go:.1f} to go"
    canvas.write((MARGIN, below), costs, 15)
    _draw_line(canvas, board, now, (below + 30, 2 * outer + 3 * MARGIN))
    return canvas


def _draw_line(
    canvas: Canvas, board: Storyboard, now: Keyframe, place: tuple[int, int]
) -> None:
    """Draw the whole route as a metro line, and where we are on it."""
    top, wide = place
    # A route can be free: start and goal may look alike.
    scale = (wide - 2 * MARGIN) / max(board.keyframes[-1].paid, 1e-9)
    for after in board.keyframes[1:]:
        ends = (after.paid - after.price, after.paid)
        start, stop = (int(MARGIN + scale * paid) for paid in ends)
        is_recorded = after.reached_by is SegmentKind.TEMPORAL
        colour = board.colours[after.episode] if is_recorded else Colours.BLACK
        # A cheap segment must stay visible.
        canvas.box((start, top), (max(stop - start + 1, 2), 6), colour)
    canvas.ring((int(MARGIN + scale * now.paid), top + 3))


def draw_frame(
    canvas: Canvas,
    corner: tuple[int, int],
    keyframe: Keyframe,
    colour: str,
    picture: Any,
    *,
    band: int = 0,
) -> None:
    """Draw a frame in its episode's colour; bridge ends have a black outline too."""
    (left, top), side = corner, picture.size[0]
    wide, high = side + 2 * BORDER, side + 2 * BORDER + band
    if keyframe.is_bridge_end:
        around = (wide + 2 * _OUTLINE, high + 2 * _OUTLINE)
        canvas.box((left - _OUTLINE, top - _OUTLINE), around, Colours.BLACK)
    canvas.box(corner, (wide, high), colour)
    canvas.paste(picture, (left + BORDER, top + band + BORDER))


def frame_reader(corpus: Corpus) -> Callable[[Keyframe], Image]:
    """Return a function that reads recorded frames, every episode only once."""
    kept: dict[int, Any] = {}

    def read(keyframe: Keyframe) -> Image:
        episode = keyframe.episode
        if episode not in kept:
            kept[episode] = np.asarray(corpus.frames(episode))
        picture: Image = kept[episode][keyframe.frame - int(corpus.offsets[episode])]
        return picture

    return read


def enlarged(image_size: int) -> int:
    """Return how large frames are drawn: a whole multiple of their size."""
    return image_size * -(-_SMALLEST // image_size)

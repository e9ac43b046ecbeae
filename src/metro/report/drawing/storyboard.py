"""Storyboards: a route in recorded pixels, as one picture or as a video."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.itinerary import Segment, SegmentKind
from metro.core.latents import Latents
from metro.data.corpus import Corpus, open_corpus
from metro.errors import StorageError
from metro.report.drawing.canvas import (
    Canvas,
    Colours,
    episode_colour,
    resize,
    write_video,
)
from metro.report.drawing.keyframes import (
    Keyframe,
    Storyboard,
    make_storyboard,
    require_recording,
)
from metro.types import Image

_MARGIN, _BORDER = 20, 5
_WORDS = {
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
_COLUMNS = 6
_BAND = 22
"""Pixels of the coloured band above a frame, with its episode."""
_BETWEEN, _UNDER = 78, 58
"""Pixels between two frames, and of the text under a frame."""
_TITLE, _LEGEND = 70, 60
_NARROWEST = 760
"""Pixels that the legend needs."""


def is_video(path: Path) -> bool:
    """Return whether a file is to be a video (.gif), not a picture (.png)."""
    if path.suffix not in (".png", ".gif"):
        raise StorageError(
            f"A storyboard is a picture (.png) or a video (.gif), got {path}."
        )
    return path.suffix == ".gif"


def require_place(path: Path, *, force: bool) -> None:
    """Raise `StorageError` if a storyboard cannot or must not be written here."""
    # Called for its error: a wrong ending is found before anything is drawn.
    is_video(path)
    if path.is_dir() or not path.parent.is_dir():
        raise StorageError(f"{path} cannot be written: no such folder, or it is one.")
    if path.exists() and not force:
        raise StorageError(f"{path} exists already. Replace it with --force.")


def write_storyboard(
    latents: Latents,
    segments: Sequence[Segment],
    ends: tuple[int, int],
    recording: Path | str,
    path: Path,
    *,
    every: int,
) -> None:
    """Write a route as a picture (.png) or a video (.gif), in its recording's pixels.

    Pictures of one segment are ``every`` frames apart; a video shows all frames.
    """
    as_video = is_video(path)
    board = make_storyboard(latents, segments, ends, every=1 if as_video else every)
    with open_corpus(recording) as corpus:
        require_recording(latents, corpus)
        (_write_video if as_video else _draw_storyboard)(board, corpus, path)


def _draw_storyboard(board: Storyboard, corpus: Corpus, path: Path) -> None:
    """Draw keyframes in rows, joined as the route joins them, with their costs.

    Every picture is a recorded frame, each of its pixels a whole number of ours wide.
    """
    side, keyframes = _enlarged(corpus.image_size), board.keyframes
    wide, high = side + 2 * _BORDER, side + 2 * _BORDER + _BAND
    rows = -(-len(keyframes) // _COLUMNS)
    # As few columns as the rows need: the last row is then not almost empty.
    columns = -(-len(keyframes) // rows)
    across, down = wide + _BETWEEN, high + _UNDER
    bottom = _TITLE + rows * down
    width = max(2 * _MARGIN + columns * across, _NARROWEST)
    canvas = Canvas((width, bottom + _LEGEND))
    canvas.write((_MARGIN, 14), board.title, 17)
    canvas.write((_MARGIN, 38), board.summary, 13, Colours.QUIET)
    colours, read = board.colours, _frame_reader(corpus)
    for number, keyframe in enumerate(keyframes):
        left = _MARGIN + number % columns * across
        top = _TITLE + number // columns * down
        picture = resize(read(keyframe), side)
        _draw_keyframe(
            canvas, (left, top), keyframe, colours[keyframe.episode], picture
        )
        # A slice, for the last keyframe has no next one.
        for after in keyframes[number + 1 : number + 2]:
            middle = top + _BAND + _BORDER + side // 2
            _draw_segment(canvas, (left + wide, middle), after, colours[after.episode])
    _draw_legend(canvas, (_MARGIN, bottom), corpus.name)
    canvas.save(path)


def _draw_keyframe(
    canvas: Canvas,
    corner: tuple[int, int],
    keyframe: Keyframe,
    colour: str,
    picture: Any,
) -> None:
    """Draw a frame with its band and border, and what it has cost."""
    left, top = corner
    high = picture.size[0] + 2 * _BORDER + _BAND
    _draw_frame(canvas, corner, keyframe, colour, picture, band=_BAND)
    ends = {None: "start: ", SegmentKind.ARRIVE: "goal: "}
    label = f"{ends.get(keyframe.reached_by, '')}episode {keyframe.episode}"
    canvas.write((left + 7, top + 4), label, 13, Colours.over(colour))
    below, costs = top + high + 6, f"{keyframe.paid:.1f} paid, {keyframe.to_go:.1f}"
    canvas.write((left, below), f"{costs} to go", 13)
    canvas.write((left, below + 17), f"frame {keyframe.frame}", 12, Colours.QUIET)


def _draw_segment(
    canvas: Canvas, place: tuple[int, int], after: Keyframe, colour: str
) -> None:
    """Draw how the next frame is reached: an arrow, or two rings for a bridge."""
    left, middle = place
    start, stop = left + 8, left + _BETWEEN - 8
    centre = left + _BETWEEN // 2
    if after.reached_by is SegmentKind.TEMPORAL:
        canvas.arrow((start, middle), stop, colour)
        unit = "frame" if after.price == 1 else "frames"
        canvas.write((centre, middle - 22), f"+{after.price:.0f}", 13, anchor="ma")
        canvas.write((centre, middle + 8), unit, 12, Colours.QUIET, anchor="ma")
        return
    canvas.dashes((start, middle), stop)
    if after.reached_by is SegmentKind.BRIDGE:
        canvas.ring((start, middle))
        canvas.ring((stop, middle))
    word = _WORDS[after.reached_by or SegmentKind.ENTER]
    canvas.write((centre, middle - 26), word, 13, anchor="ma")
    canvas.write((centre, middle + 10), f"{after.price:.1f}", 13, anchor="ma")
    canvas.write((centre, middle + 25), "frames", 12, Colours.QUIET, anchor="ma")


def _draw_legend(canvas: Canvas, corner: tuple[int, int], recording: str) -> None:
    left, top = corner
    canvas.box((left, top + 4), (14, 14), episode_colour(0))
    canvas.box((left + 16, top + 4), (14, 14), episode_colour(1))
    canvas.write((left + 38, top + 3), "one colour per episode", 13)
    canvas.arrow((left + 204, top + 11), left + 240, episode_colour(0))
    canvas.write((left + 248, top + 3), "12 recorded frames: +12", 13)
    canvas.dashes((left + 430, top + 11), left + 462)
    canvas.ring((left + 430, top + 11))
    canvas.ring((left + 462, top + 11))
    canvas.write((left + 476, top + 3), "a bridge between look-alikes, its price", 13)
    canvas.write(
        (left, top + 28),
        f"Every picture is a recorded frame of {Path(recording).name}. Frames paid so "
        f"far and to go are costs of the route.",
        13,
        Colours.QUIET,
    )


def _write_video(board: Storyboard, corpus: Corpus, path: Path) -> None:
    """Write a GIF: the route frame by frame, beside its goal; bridges stay longer."""
    read, ends = _frame_reader(corpus), (board.keyframes[0], board.keyframes[-1])
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
    side = 2 * _enlarged(picture.shape[0])
    outer, top = side + 2 * _BORDER, 40
    right, below = 2 * _MARGIN + outer, top + outer + 12
    canvas = Canvas((2 * outer + 3 * _MARGIN, side + 124))
    word = "start" if now.reached_by is None else _WORDS[now.reached_by]
    canvas.write((_MARGIN, 12), f"{word}: episode {now.episode}, frame {now.frame}", 15)
    colour = board.colours[now.episode]
    _draw_frame(canvas, (_MARGIN, top), now, colour, resize(picture, side))
    canvas.write((right, 12), "the goal", 15)
    canvas.paste(resize(goal, side), (right + _BORDER, top + _BORDER))
    costs = f"{now.paid:.1f} frames paid, {now.to_go:.1f} to go"
    canvas.write((_MARGIN, below), costs, 15)
    _draw_line(canvas, board, now, (below + 30, 2 * outer + 3 * _MARGIN))
    return canvas


def _draw_line(
    canvas: Canvas, board: Storyboard, now: Keyframe, place: tuple[int, int]
) -> None:
    """Draw the whole route as a metro line, and where we are on it."""
    top, wide = place
    # A route can be free: start and goal may look alike.
    scale = (wide - 2 * _MARGIN) / max(board.keyframes[-1].paid, 1e-9)
    for after in board.keyframes[1:]:
        ends = (after.paid - after.price, after.paid)
        start, stop = (int(_MARGIN + scale * paid) for paid in ends)
        is_recorded = after.reached_by is SegmentKind.TEMPORAL
        colour = board.colours[after.episode] if is_recorded else Colours.BLACK
        # A cheap segment must stay visible.
        canvas.box((start, top), (max(stop - start + 1, 2), 6), colour)
    canvas.ring((int(_MARGIN + scale * now.paid), top + 3))


def _draw_frame(
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
    wide, high = side + 2 * _BORDER, side + 2 * _BORDER + band
    if keyframe.is_bridge_end:
        around = (wide + 2 * _OUTLINE, high + 2 * _OUTLINE)
        canvas.box((left - _OUTLINE, top - _OUTLINE), around, Colours.BLACK)
    canvas.box(corner, (wide, high), colour)
    canvas.paste(picture, (left + _BORDER, top + band + _BORDER))


def _frame_reader(corpus: Corpus) -> Callable[[Keyframe], Image]:
    """Return a function that reads recorded frames, every episode only once."""
    kept: dict[int, Any] = {}

    def read(keyframe: Keyframe) -> Image:
        episode = keyframe.episode
        if episode not in kept:
            kept[episode] = np.asarray(corpus.frames(episode))
        picture: Image = kept[episode][keyframe.frame - int(corpus.offsets[episode])]
        return picture

    return read


def _enlarged(image_size: int) -> int:
    """Return how large frames are drawn: a whole multiple of their size."""
    return image_size * -(-_SMALLEST // image_size)

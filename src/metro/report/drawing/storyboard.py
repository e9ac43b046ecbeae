"""Storyboards: a route in recorded pixels, as one picture or as a film."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.itinerary import Segment, SegmentKind
from metro.core.latents import Latents
from metro.data.corpus import Corpus, open_corpus
from metro.errors import StorageError
from metro.report.drawing.canvas import Canvas, Colours, colour_of, large
from metro.report.drawing.keyframes import Keyframe, choose_shots, require_recording

_COLUMNS = 6
_MARGIN = 20
_BAND, _BORDER, _RING = 22, 5, 4
_JOINT = 78
_UNDER = 58
_TITLE, _LEGEND = 70, 60
_SMALLEST = 112
_WORDS = {
    SegmentKind.BRIDGE: "bridge",
    SegmentKind.ENTER: "enter",
    SegmentKind.ARRIVE: "arrive",
}


@dataclass(frozen=True)
class Storyboard:
    """Shots of a route, and what stands above them.

    Attributes:
        shots: In order.
        title: From where to where.
        told: What the route is made of, in a line.
    """

    shots: Sequence[Keyframe]
    title: str
    told: str

    @property
    def colours(self) -> dict[int, str]:
        """A colour an episode, in the order in which they are met."""
        met = dict.fromkeys(shot.episode for shot in self.shots)
        return {episode: colour_of(number) for number, episode in enumerate(met)}


def is_film(path: Path) -> bool:
    """Return whether a file is to be a film (.gif), not a picture (.png)."""
    if path.suffix not in (".png", ".gif"):
        raise StorageError(
            f"A storyboard is a picture (.png) or a film (.gif), got {path}."
        )
    return path.suffix == ".gif"


def require_place(path: Path, *, force: bool) -> None:
    """Raise `StorageError` if a storyboard cannot or must not be written here."""
    is_film(path)
    if path.is_dir() or not path.parent.is_dir():
        raise StorageError(f"{path} cannot be written: no such folder, or it is one.")
    if path.exists() and not force:
        raise StorageError(f"{path} exists already. Replace it with --force.")


def write_storyboard(
    latents: Latents,
    legs: Sequence[Segment],
    ends: tuple[int, int],
    recording: Path,
    path: Path,
    *,
    every: int,
) -> None:
    """Write a route as a picture or a film, in the pixels of its recording.

    Args:
        latents: Of the graph.
        legs: Of `path_segments`.
        ends: The frames that were asked for: start and goal.
        recording: What the latents are of.
        path: Ends in .png or .gif; what is there is replaced.
        every: Frames between two pictures of a ride; a film shows them all.
    """
    film = is_film(path)
    shots = choose_shots(latents, legs, ends, every=1 if film else every)
    with open_corpus(recording) as corpus:
        require_recording(latents, corpus)
        board = Storyboard(shots, _title(latents, ends), _told(legs, shots))
        (write_route_film if film else draw_board)(board, corpus, path)


def _title(latents: Latents, ends: tuple[int, int]) -> str:
    start, goal = (f"frame {end} (episode {latents.episode_of(end)})" for end in ends)
    return f"From {start} to {goal}"


def _told(legs: Sequence[Segment], shots: Sequence[Keyframe]) -> str:
    bridges = [leg.cost for leg in legs if leg.kind is SegmentKind.BRIDGE]
    ridden = sum(leg.steps for leg in legs)
    passed = {shot.episode for shot in shots if shot.joint is not SegmentKind.ARRIVE}
    return (
        f"The cheapest route costs {legs[-1].total:.1f} frames: {ridden} ridden, "
        f"{sum(bridges):.1f} for bridges ({len(bridges)}), the rest for arriving. "
        f"Episodes passed through: {len(passed)}."
    )


def draw_board(board: Storyboard, corpus: Corpus, path: Path) -> None:
    """Draw shots in rows, joined as they are ridden, with what each has cost.

    Every picture is a recorded frame, each of its pixels a whole number of ours wide.
    """
    side = _side(corpus)
    wide, high = side + 2 * _BORDER, side + 2 * _BORDER + _BAND
    rows = -(-len(board.shots) // _COLUMNS)
    columns = -(-len(board.shots) // rows)
    across, down = wide + _JOINT, high + _UNDER
    size = (
        max(2 * _MARGIN + columns * across, 760),
        _TITLE + rows * down + _LEGEND,
    )
    pen = Canvas(size)
    pen.write((_MARGIN, 14), board.title, 17)
    pen.write((_MARGIN, 38), board.told, 13, Colours.QUIET)
    colours, read = board.colours, _reader(corpus)
    for number, shot in enumerate(board.shots):
        left = _MARGIN + number % columns * across
        top = _TITLE + number // columns * down
        _tile(pen, (left, top), shot, colours[shot.episode], large(read(shot), side))
        following = board.shots[number + 1 : number + 2]
        for after in following:
            middle = top + _BAND + _BORDER + side // 2
            _joint(pen, (left + wide, middle), after, colours[after.episode])
    _legend(pen, (_MARGIN, size[1] - _LEGEND), corpus.name)
    pen.save(path)


def _tile(
    pen: Canvas, corner: tuple[int, int], shot: Keyframe, colour: str, picture: Any
) -> None:
    """Draw a frame with its band and border; bridge ends have a black outline too."""
    left, top = corner
    side = picture.size[0]
    wide, high = side + 2 * _BORDER, side + 2 * _BORDER + _BAND
    if shot.is_bridge_end:
        pen.box((left - _RING, top - _RING), (wide + 2 * _RING, high + 2 * _RING),
                Colours.BLACK)  # fmt: skip
    pen.box(corner, (wide, high), colour)
    pen.write((left + 7, top + 4), _place(shot), 13, Colours.over(colour))
    pen.paste(picture, (left + _BORDER, top + _BAND + _BORDER))
    below = top + high + 6
    pen.write((left, below), f"{shot.paid:.1f} paid, {shot.to_go:.1f} to go", 13)
    pen.write((left, below + 17), f"frame {shot.frame}", 12, Colours.QUIET)


def _place(shot: Keyframe) -> str:
    if shot.joint is None:
        return f"start: episode {shot.episode}"
    if shot.joint is SegmentKind.ARRIVE:
        return f"goal: episode {shot.episode}"
    return f"episode {shot.episode}"


def _joint(pen: Canvas, place: tuple[int, int], after: Keyframe, colour: str) -> None:
    """Draw how the next shot is reached: a line for a ride, two rings for a bridge."""
    left, middle = place
    start, stop = left + 8, left + _JOINT - 8
    centre = left + _JOINT // 2
    if after.joint is SegmentKind.TEMPORAL:
        pen.arrow((start, middle), stop, colour)
        pen.write((centre, middle - 22), f"+{after.price:.0f}", 13, anchor="ma")
        pen.write(
            (centre, middle + 8), _frames(after.price), 12, Colours.QUIET, anchor="ma"
        )
        return
    pen.dashes((start, middle), stop)
    if after.joint is SegmentKind.BRIDGE:
        pen.ring((start, middle))
        pen.ring((stop, middle))
    word = _WORDS[after.joint or SegmentKind.ENTER]
    pen.write((centre, middle - 26), word, 13, anchor="ma")
    pen.write((centre, middle + 10), f"{after.price:.1f}", 13, anchor="ma")
    pen.write((centre, middle + 25), "frames", 12, Colours.QUIET, anchor="ma")


def _frames(number: float) -> str:
    return "frame" if number == 1 else "frames"


def _legend(pen: Canvas, corner: tuple[int, int], recording: str) -> None:
    left, top = corner
    pen.box((left, top + 4), (14, 14), colour_of(0))
    pen.box((left + 16, top + 4), (14, 14), colour_of(1))
    pen.write((left + 38, top + 3), "a colour an episode", 13)
    pen.arrow((left + 190, top + 11), left + 226, colour_of(0))
    pen.write((left + 234, top + 3), "a ride, 12 frames: +12", 13)
    pen.dashes((left + 420, top + 11), left + 452)
    pen.ring((left + 420, top + 11))
    pen.ring((left + 452, top + 11))
    pen.write((left + 466, top + 3), "a bridge between look-alikes, its price", 13)
    pen.write(
        (left, top + 28),
        f"Every picture is a recorded frame of {Path(recording).name}. Frames paid so "
        f"far and to go are costs of the route.",
        13,
        Colours.QUIET,
    )


def write_route_film(board: Storyboard, corpus: Corpus, path: Path) -> None:
    """Write a GIF: the route frame by frame, beside its goal; bridges are held."""
    read = _reader(corpus)
    goal = read(board.shots[-1])
    sheets, times = [], []
    for shot in board.shots:
        sheets.append(_scene(board, shot, (read(shot), goal)))
        is_held = shot.is_bridge_end or shot in (board.shots[0], board.shots[-1])
        times.append(900 if is_held else 90)
    sheets[0].save(
        path, save_all=True, append_images=sheets[1:], duration=times, loop=0
    )


def _scene(board: Storyboard, shot: Keyframe, pictures: tuple[Any, Any]) -> Any:
    """Return one picture of the film: where we are, the goal, how far it is."""
    side = 2 * _side_of(pictures[0].shape[0])
    wide = 2 * (side + 2 * _BORDER) + 3 * _MARGIN
    pen = Canvas((wide, side + 124))
    colours = board.colours
    colour = colours[shot.episode]
    place = (_MARGIN, 40)
    outer = side + 2 * _BORDER
    told = _WORDS.get(shot.joint, "ride") if shot.joint else "start"
    pen.write((_MARGIN, 12), f"{told}: episode {shot.episode}, frame {shot.frame}", 15)
    if shot.is_bridge_end:
        pen.box((place[0] - _RING, place[1] - _RING),
                (outer + 2 * _RING, outer + 2 * _RING), Colours.BLACK)  # fmt: skip
    pen.box(place, (outer, outer), colour)
    pen.paste(large(pictures[0], side), (place[0] + _BORDER, place[1] + _BORDER))
    right = 2 * _MARGIN + outer
    pen.write((right, 12), "the goal", 15)
    pen.paste(large(pictures[1], side), (right + _BORDER, place[1] + _BORDER))
    below = place[1] + outer + 12
    pen.write(
        (_MARGIN, below), f"{shot.paid:.1f} frames paid, {shot.to_go:.1f} to go", 15
    )
    _line(pen, board, shot, (below + 30, wide))
    return pen.sheet


def _line(
    pen: Canvas, board: Storyboard, now: Keyframe, place: tuple[int, int]
) -> None:
    """Draw the whole route as a metro line, and where we are on it."""
    top, wide = place
    scale = (wide - 2 * _MARGIN) / max(board.shots[-1].paid, 1e-9)
    for after in board.shots[1:]:
        start, stop = (_MARGIN + scale * paid for paid in
                       (after.paid - after.price, after.paid))  # fmt: skip
        is_ride = after.joint is SegmentKind.TEMPORAL
        colour = board.colours[after.episode] if is_ride else Colours.BLACK
        pen.box((int(start), top), (max(int(stop) - int(start) + 1, 2), 6), colour)
    pen.ring((int(_MARGIN + scale * now.paid), top + 3))


def _reader(corpus: Corpus) -> Any:
    """Return a function from shots to recorded frames; episodes are read once."""
    kept: dict[int, Any] = {}

    def read(shot: Keyframe) -> Any:
        if shot.episode not in kept:
            kept[shot.episode] = np.asarray(corpus.frames(shot.episode))
        return kept[shot.episode][shot.frame - int(corpus.offsets[shot.episode])]

    return read


def _side(corpus: Corpus) -> int:
    return _side_of(corpus.image_size)


def _side_of(image_size: int) -> int:
    """Return how large frames are drawn: whole times their size."""
    return image_size * -(-_SMALLEST // image_size)

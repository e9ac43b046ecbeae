"""Which recorded frames a storyboard of a route shows, and what each has cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metro.core.itinerary import Segment, SegmentKind
from metro.core.latents import Latents
from metro.data.corpus import Corpus
from metro.errors import CorpusError, GraphError
from metro.report.drawing.canvas import episode_colour
from metro.storage.made_from import Provenance


@dataclass(frozen=True)
class Keyframe:
    """One recorded frame of a storyboard; costs are in frames.

    Attributes:
        reached_by: Kind of the segment from the keyframe before; None: the first.
        price: What that cost.
        is_bridge_end: Whether a bridge leaves from or ends in it.
    """

    frame: int
    episode: int
    paid: float
    to_go: float
    reached_by: SegmentKind | None
    price: float
    is_bridge_end: bool


@dataclass(frozen=True)
class Storyboard:
    """Keyframes in the order of the route, and the two lines that stand above them."""

    keyframes: Sequence[Keyframe]
    title: str
    summary: str

    @property
    def colours(self) -> dict[int, str]:
        """One colour per episode, in the order in which they occur."""
        met = dict.fromkeys(keyframe.episode for keyframe in self.keyframes)
        return {episode: episode_colour(number) for number, episode in enumerate(met)}


def make_storyboard(
    latents: Latents, segments: Sequence[Segment], ends: tuple[int, int], *, every: int
) -> Storyboard:
    """Return the storyboard of a route; see `choose_keyframes`."""
    keyframes = choose_keyframes(latents, segments, ends, every=every)
    start, goal = (f"frame {end} (episode {latents.episode_of(end)})" for end in ends)
    bridges = [one.cost for one in segments if one.kind is SegmentKind.BRIDGE]
    followed = sum(one.steps for one in segments)
    passed = {
        keyframe.episode
        for keyframe in keyframes
        # The goal's own episode is arrived at, not passed through.
        if keyframe.reached_by is not SegmentKind.ARRIVE
    }
    summary = (
        f"The cheapest route costs {segments[-1].total:.1f} frames: {followed} along "
        f"recordings, {sum(bridges):.1f} for bridges ({len(bridges)}), the rest for "
        f"arriving. Episodes passed through: {len(passed)}."
    )
    return Storyboard(keyframes, f"From {start} to {goal}", summary)


def choose_keyframes(
    latents: Latents, segments: Sequence[Segment], ends: tuple[int, int], *, every: int
) -> list[Keyframe]:
    """Return both ends of every segment of a route, and some frames of long ones.

    Frames of one temporal segment are ``every`` apart; its last one is always shown.
    Decision: D29
    """
    start, goal = ends
    if not segments:
        raise GraphError(
            f"There is no route from frame {start} to frame {goal}, so there is "
            f"nothing to draw. Choose other frames."
        )
    if every < 1:
        raise GraphError(f"every must be at least 1, got {every}.")
    bridges = [one for one in segments if one.kind is SegmentKind.BRIDGE]
    bridged = {frame for one in bridges for frame in (one.start, one.stop)}
    keyframes, before = [], 0.0
    for frame, paid, kind in [(start, 0.0, None), *_stops(segments, goal, every)]:
        # The goal may be a bridge's end of the route too; here it is only the goal.
        ends_bridge = frame in bridged and kind is not SegmentKind.ARRIVE
        episode, to_go = int(latents.episode_of(frame)), segments[-1].total - paid
        price, before = paid - before, paid
        keyframes.append(
            Keyframe(frame, episode, paid, to_go, kind, price, ends_bridge)
        )
    return keyframes


def _stops(
    segments: Sequence[Segment], goal: int, every: int
) -> Iterator[tuple[int, float, SegmentKind]]:
    """Yield the frame of each keyframe, frames paid there, and the segment's kind."""
    for one in segments:
        before = one.total - one.cost
        if one.kind is SegmentKind.TEMPORAL and one.start is not None:
            pace = one.cost / one.steps
            for steps in range(every, one.steps, every):
                yield one.start + steps, before + steps * pace, one.kind
        # Arriving has no frame to stop at: it ends in the goal.
        yield goal if one.stop is None else one.stop, one.total, one.kind


def require_recording(latents: Latents, corpus: Corpus) -> None:
    """Raise a `MetroError` unless latents are of this recording.

    Latents that do not name their recording must have its episodes at least.
    """
    Provenance.of(latents).require(corpus=corpus.digest, or_unrecorded=True)
    lengths = (latents.episode_offsets[1:] - latents.episode_offsets[:-1]).tolist()
    if lengths != corpus.lengths.tolist():
        raise CorpusError(
            f"{corpus.name} has {corpus.num_episodes} episodes of "
            f"{corpus.num_frames} frames, the graph {latents.num_episodes} of "
            f"{latents.num_frames}, or of other lengths. Give the recording that the "
            f"latents are of."
        )

"""Which recorded frames a storyboard of a route shows, and what each has cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from metro.core.itinerary import Segment, SegmentKind
from metro.core.latents import Latents
from metro.data.corpus import Corpus
from metro.errors import CorpusError, GraphError
from metro.storage.made_from import Provenance


@dataclass(frozen=True)
class Keyframe:
    """One recorded frame of a storyboard.

    Attributes:
        frame: Its number in the corpus.
        episode: Its episode.
        paid: Frames paid to be here.
        to_go: Frames to the goal.
        joint: How we came here from the shot before; None: the first.
        price: What that cost, frames.
        is_bridge_end: Whether a bridge leaves from or ends in it.
    """

    frame: int
    episode: int
    paid: float
    to_go: float
    joint: SegmentKind | None
    price: float
    is_bridge_end: bool


def choose_shots(
    latents: Latents, legs: Sequence[Segment], ends: tuple[int, int], *, every: int
) -> list[Keyframe]:
    """Return the shots of a journey: both ends of every leg, and some of long rides.

    Decision: D29

    Args:
        latents: Of the graph.
        legs: Of `path_segments`.
        ends: The frames that were asked for: start and goal.
        every: Frames between two shots of one ride; its last frame is always shown.

    Raises:
        GraphError: If there is no leg, hence nothing to show.
    """
    start, goal = ends
    if not legs:
        raise GraphError(
            f"There is no route from frame {start} to frame {goal}, so there is "
            f"nothing to draw. Choose other frames."
        )
    if every < 1:
        raise GraphError(f"every must be at least 1, got {every}.")
    stops = [(start, 0.0, None), *_stops(legs, goal, every)]
    bridged = {frame for leg in legs if leg.kind is SegmentKind.BRIDGE
               for frame in (leg.start, leg.stop)}  # fmt: skip
    shots, before = [], 0.0
    for frame, paid, joint in stops:
        episode = int(latents.episode_of(frame))
        to_go, price = legs[-1].total - paid, paid - before
        ends_bridge = frame in bridged and joint is not SegmentKind.ARRIVE
        shots.append(Keyframe(frame, episode, paid, to_go, joint, price, ends_bridge))
        before = paid
    return shots


def _stops(
    legs: Sequence[Segment], goal: int, every: int
) -> Iterator[tuple[int, float, SegmentKind]]:
    """Yield frames where shots are taken, frames paid there, and the leg."""
    for leg in legs:
        before = leg.total - leg.cost
        if leg.kind is SegmentKind.TEMPORAL and leg.start is not None:
            pace = leg.cost / leg.steps
            for steps in range(every, leg.steps, every):
                yield leg.start + steps, before + steps * pace, leg.kind
        yield goal if leg.stop is None else leg.stop, leg.total, leg.kind


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

"""Pictures of rollouts: what is said about them, and which pixels are shown."""

import numpy as np
import pytest
from PIL import Image

from metro.benchmark import load_benchmark
from metro.core.itinerary import Segment, SegmentKind
from metro.report.drawing.rollouts import (
    RecordedRollout,
    draw_map,
    draw_rollouts,
    render_map,
    write_rollout_video,
)

GOAL = np.full((96, 96, 3), (0, 0, 255), np.uint8)


def rollout(arrived=None, steps=4):
    """Return a rollout whose pictures get lighter from step to step."""
    shades = np.arange(steps + 1, dtype=np.uint8) * 20
    pictures = np.broadcast_to(shades[:, None, None, None], (steps + 1, 96, 96, 3))
    return RecordedRollout("metro", arrived, np.zeros((steps + 1, 2)), pictures)


@pytest.mark.parametrize(
    ("arrived", "text"),
    [
        (None, "metro: not there after 4 frames"),
        (3, "metro: there after 3 frames"),
        (0, "metro: there after 0 frames"),
    ],
)
def test_the_result_is_said_in_words(arrived, text):
    """A rollout says whether and when it was there; zero frames are an arrival."""
    assert rollout(arrived).result == text


@pytest.mark.parametrize(
    ("step", "shade", "text"),
    [
        (2, 40, "frame 2"),
        (3, 60, "there after 3 frames"),
        (9, 80, "there after 3 frames"),
    ],
)
def test_the_last_picture_stays(step, shade, text):
    """A tile shows its step, after the end the last one, and says the arrival."""
    tile = rollout(3).tile_at(step)
    assert (tile.picture[0, 0, 0], tile.caption) == (shade, ("metro", text))


def test_moments_are_from_first_to_last(tmp_path):
    """A row has eight moments, the first and the last among them, and the goal."""
    draw_rollouts([rollout(steps=7)], GOAL, tmp_path / "a.png")
    sheet = np.asarray(Image.open(tmp_path / "a.png"))
    assert sheet.shape[1] == 9 * 100
    middles = sheet[-48, 48::100]
    assert middles[:8, 0].tolist() == [0, 20, 40, 60, 80, 100, 120, 140]
    assert middles[8].tolist() == [0, 0, 255]


def test_the_video_lasts_as_long_as_the_longest(tmp_path):
    """Every second step is a frame of 60 ms, and the end stays for 15 more."""
    goal = GOAL[:4, :4]
    short, long = (rollout(steps=steps) for steps in (2, 8))
    write_rollout_video([short, long], goal, tmp_path / "a.gif")
    milliseconds = 0
    with Image.open(tmp_path / "a.gif") as video:
        for number in range(video.n_frames):
            video.seek(number)
            milliseconds += video.info["duration"]
    assert milliseconds == 60 * (5 + 15)


def test_a_map_is_drawn_the_same_twice(tmp_path):
    """The same route and rollouts give the same bytes, another goal others."""
    ride = Segment(SegmentKind.TEMPORAL, 0, 0, 5, 5, 0.0, 5.0, 5.0)
    places = np.arange(12.0).reshape(6, 2)
    for name, goal in (("a", 5), ("b", 5), ("c", 2)):
        file = tmp_path / f"{name}.png"
        draw_map(GOAL, places, [ride], goal, [rollout()], file)
    drawn = {name: (tmp_path / f"{name}.png").read_bytes() for name in "abc"}
    assert drawn["a"] == drawn["b"] != drawn["c"]


def test_the_map_shows_the_agent_where_the_state_has_it():
    """Two states differ in the pixels around the two places, and nowhere else."""
    tworoom, places = load_benchmark("tworoom"), [(50.0, 60.0), (150.0, 160.0)]
    one, other = (render_map(tworoom, {"proprio": np.array(place)}) for place in places)
    changed = np.argwhere((one != other).any(axis=2))[:, ::-1]
    reach = np.abs(changed[:, None] - np.array(places)).max(axis=2)
    assert (reach.min(axis=0) <= 1).all()
    assert reach.min(axis=1).max() <= 48

"""Storyboards: recorded pixels only, costs that add up, and what cannot be drawn."""

import re
from itertools import pairwise

import h5py
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import metro
from metro.cli import app
from metro.core.itinerary import SegmentKind, path_segments
from metro.data.corpus import open_corpus
from metro.errors import CorpusError, GraphError, LatentsError, StorageError
from metro.report.drawing.keyframes import choose_keyframes, require_recording

START, GOAL = 100, 1500
SIZE, SIDE = 8, 112


@pytest.fixture(scope="module")
def recording(tmp_path_factory, rooms):
    """A recording with a picture of its own for every frame of the rooms."""
    path = tmp_path_factory.mktemp("corpus") / "rooms.h5"
    shape = (rooms.num_frames, SIZE, SIZE, 3)
    with h5py.File(path, "w") as file:
        file["pixels"] = np.random.default_rng(0).integers(0, 255, shape, np.uint8)
        file["action"] = np.zeros((rooms.num_frames, 2), np.float32)
        file["ep_len"] = np.diff(rooms.episode_offsets)
        file["ep_offset"] = rooms.episode_offsets[:-1]
    return path


@pytest.fixture(scope="module")
def legs(rooms_graph, rooms):
    """The route of all tests; it has rides and bridges."""
    return path_segments(metro.find_routes(rooms_graph, rooms.z[GOAL]), START)


def run(saved, *words):
    asked = ["route", str(saved), "--from", START, "--to", GOAL, *words]
    return CliRunner().invoke(app, [*map(str, asked)])


def place_of(sheet, picture):
    """Return the first place of the picture on the sheet: its top and left."""
    zoom = SIDE // SIZE
    wanted = picture.repeat(zoom, 0).repeat(zoom, 1)
    first = wanted[0].tobytes()
    found = [(top, line.tobytes().find(first) // 3) for top, line in enumerate(sheet)]
    (top, left), *_ = [place for place in found if place[1] >= 0]
    assert np.array_equal(sheet[top : top + SIDE, left : left + SIDE], wanted)
    return top, left


def test_shots_tell_the_journey(rooms, legs):
    """Both ends of every leg are shown, gaps are at most k, and prices add up."""
    shots = choose_keyframes(rooms, legs, (START, GOAL), every=3)
    assert (shots[0].frame, shots[-1].frame) == (START, GOAL)
    shown = {shot.frame for shot in shots}
    assert {leg.start for leg in legs} | {leg.stop for leg in legs} - {None} <= shown
    for one, after in pairwise(shots):
        assert after.paid == pytest.approx(one.paid + after.price)
        assert after.paid + after.to_go == pytest.approx(legs[-1].total)
        if after.reached_by is SegmentKind.TEMPORAL:
            assert 1 <= after.frame - one.frame <= 3
            assert after.price == pytest.approx(after.frame - one.frame)
            assert after.episode == one.episode
        if after.reached_by is SegmentKind.BRIDGE:
            assert one.is_bridge_end
            assert after.is_bridge_end
            assert after.episode != one.episode
    assert sum(shot.reached_by is SegmentKind.BRIDGE for shot in shots) == sum(
        leg.kind is SegmentKind.BRIDGE for leg in legs
    )


def test_every_picture_is_a_recorded_frame(tmp_path, saved, recording, rooms, legs):
    """Bit for bit, in the order of the route."""
    path = tmp_path / "route.png"
    done = run(saved, "--storyboard", path, "--corpus", recording, "--every", 3)
    assert done.exit_code == 0, done.output
    shots = choose_keyframes(rooms, legs, (START, GOAL), every=3)
    with h5py.File(recording) as file:
        wanted = [file["pixels"][shot.frame] for shot in shots]
    sheet = np.asarray(Image.open(path).convert("RGB"))
    place_of(sheet, wanted[-1])  # the goal; shown twice if a route rides up to it
    places = [place_of(sheet, picture) for picture in wanted[:-1]]
    assert places == sorted(places)
    assert len(set(places)) == len(places) > 8


def test_a_film_shows_every_frame(tmp_path, saved, recording, legs):
    """By its suffix; a picture for every frame ridden and for both ends of bridges."""
    path = tmp_path / "route.gif"
    done = run(saved, "--storyboard", path, "--corpus", recording)
    assert done.exit_code == 0, done.output
    jumps = sum(leg.kind is not SegmentKind.TEMPORAL for leg in legs)
    with Image.open(path) as film:
        assert film.n_frames == 1 + sum(leg.steps for leg in legs) + jumps


def test_the_same_route_gives_the_same_bytes(tmp_path, saved, recording):
    """And nothing is replaced unless asked."""
    path = tmp_path / "route.png"
    words = ["--storyboard", path, "--corpus", recording]
    run(saved, *words)
    first = path.read_bytes()
    told = run(saved, *words).exception
    assert isinstance(told, StorageError)
    assert str(told) == f"{path} exists already. Replace it with --force."
    assert run(saved, *words, "--force").exit_code == 0
    assert path.read_bytes() == first


def test_the_recording_must_be_the_graphs(tmp_path, saved, recording, rooms):
    """Another digest or other episodes are refused, and nothing is written."""
    made = {"corpus": {"name": "rooms.h5", "digest": "0123456789abcdef"}}
    other = metro.Latents(rooms.z, rooms.episode_offsets, made)
    with open_corpus(recording) as corpus:
        with pytest.raises(LatentsError, match=r"another corpus: rooms.h5 \(01234567"):
            require_recording(other, corpus)
        made["corpus"]["digest"] = corpus.digest
        require_recording(metro.Latents(rooms.z, rooms.episode_offsets, made), corpus)
    short = tmp_path / "short.h5"
    with h5py.File(short, "w") as file:
        file["pixels"] = np.zeros((4, SIZE, SIZE, 3), np.uint8)
        file["ep_len"], file["ep_offset"] = np.array([4]), np.array([0])
    path = tmp_path / "route.png"
    told = run(saved, "--storyboard", path, "--corpus", short).exception
    assert isinstance(told, CorpusError)
    assert "has 1 episodes of 4 frames, the graph 30 of 1800, or of other" in str(told)
    assert not path.exists()


def test_a_recording_without_pixels(tmp_path, saved, recording):
    """What it has instead."""
    blind = tmp_path / "blind.h5"
    with h5py.File(recording) as seen, h5py.File(blind, "w") as file:
        for name in ("action", "ep_len", "ep_offset"):
            file[name] = seen[name][:]
    path = tmp_path / "route.png"
    told = run(saved, "--storyboard", path, "--corpus", blind).exception
    assert isinstance(told, CorpusError)
    assert "has no column 'pixels'; it has action" in str(told)
    assert not path.exists()


def test_no_route_cannot_be_drawn(rooms):
    """It is an answer of metro route, but no picture."""
    told = (
        "There is no route from frame 3 to frame 9, so there is nothing to draw. "
        "Choose other frames."
    )
    with pytest.raises(GraphError, match=f"^{re.escape(told)}$"):
        choose_keyframes(rooms, [], (3, 9), every=5)


def test_bad_words(tmp_path, saved, recording):
    """A suffix that is neither, and a storyboard without a recording."""
    path = tmp_path / "route.jpg"
    told = run(saved, "--storyboard", path, "--corpus", recording).exception
    assert str(told) == (
        f"A storyboard is a picture (.png) or a video (.gif), got {path}."
    )
    lost = tmp_path / "nowhere" / "route.png"
    told = run(saved, "--storyboard", lost, "--corpus", recording).exception
    assert str(told) == f"{lost} cannot be written: no such folder, or it is one."
    assert run(saved, "--storyboard", tmp_path / "route.png").exit_code == 2
    assert run(saved, "--corpus", recording).exit_code == 2

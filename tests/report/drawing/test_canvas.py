"""The canvas: which pixels are painted, and what is written to disk."""

import numpy as np
import pytest
from PIL import Image

from metro.report.drawing import canvas as module
from metro.report.drawing.canvas import (
    Canvas,
    Colours,
    Tile,
    draw_tiles,
    episode_colour,
    resize,
    write_video,
)

RED = "#ff0000"


def pixels(canvas):
    """Return the canvas as an array."""
    return np.asarray(canvas.image)


def painted(canvas):
    """Return the rectangle of all pixels that are not white: y0, y1, x0, x1."""
    rows, columns = np.nonzero((pixels(canvas) != 255).any(axis=2))
    return rows.min(), rows.max() + 1, columns.min(), columns.max() + 1


def test_a_box_has_exactly_its_size():
    """A box of 3 by 2 pixels paints six pixels, all in its colour."""
    canvas = Canvas((10, 8))
    canvas.box((4, 5), (3, 2), RED)
    assert painted(canvas) == (5, 7, 4, 7)
    assert (pixels(canvas)[5:7, 4:7] == (255, 0, 0)).all()


def test_an_arrow_ends_at_its_stop():
    """The tip of an arrow is the last column that is painted."""
    canvas = Canvas((60, 20))
    canvas.arrow((5, 10), 50, RED)
    assert painted(canvas)[2:] == (5, 51)


def test_dashes_have_gaps():
    """A dashed line alternates: five pixels of black, three of white."""
    canvas = Canvas((40, 9))
    canvas.dashes((2, 4), 34)
    black = (pixels(canvas)[4, 2:34] != 255).any(axis=1)
    assert black.reshape(4, 8).tolist() == [[True] * 5 + [False] * 3] * 4


def test_a_ring_is_white_inside():
    """A bridge's end hides what is under it, and its rim is black."""
    canvas = Canvas((21, 21))
    canvas.box((0, 0), (21, 21), RED)
    canvas.ring((10, 10))
    assert pixels(canvas)[10, 10].tolist() == [255, 255, 255]
    assert pixels(canvas)[10, 4].tolist() == [0x14, 0x16, 0x1A]


@pytest.mark.parametrize(
    ("colour", "words"),
    [("#ffffff", Colours.BLACK), ("#000000", Colours.WHITE), ("#00ff00", "#14161a")],
)
def test_words_are_readable_on_a_colour(colour, words):
    """Light colours get black words and dark ones white words; green is light."""
    assert Colours.over(colour) == words


def test_ten_episodes_have_ten_colours():
    """Colours differ for ten episodes, and the eleventh has the first one again."""
    assert len({episode_colour(number) for number in range(10)}) == 10
    assert episode_colour(10) == episode_colour(0)


def test_enlarged_pixels_stay_pixels():
    """A frame is enlarged by repeating its own pixels."""
    picture = np.random.default_rng(0).integers(0, 255, (2, 2, 3), np.uint8)
    expected = picture.repeat(3, 0).repeat(3, 1)
    assert np.array_equal(np.asarray(resize(picture, 6)), expected)


def test_tiles_stand_in_rows_below_their_words():
    """Each picture is at its column and row, under as many lines as the longest."""
    red, blue = (
        np.full((2, 2, 3), rgb, np.uint8) for rgb in ((255, 0, 0), (0, 0, 255))
    )
    sheet = pixels(draw_tiles([[Tile(red), Tile(blue, ("a",))], [Tile(blue)]], 10))
    assert sheet.shape == (2 * (26 + 10), 2 * 14, 3)
    assert (sheet[26:36, :10] == (255, 0, 0)).all()
    assert (sheet[26:36, 14:24] == (0, 0, 255)).all()
    assert (sheet[62:72, :10] == (0, 0, 255)).all()
    assert (sheet[62:72, 10:] == 255).all()


def test_a_saved_canvas_has_its_pixels(tmp_path):
    """The PNG has the pixels of the canvas."""
    canvas = Canvas((5, 4))
    canvas.box((1, 1), (2, 2), RED)
    canvas.save(tmp_path / "a.png")
    assert np.array_equal(np.asarray(Image.open(tmp_path / "a.png")), pixels(canvas))


def test_a_video_shows_each_frame_for_its_time(tmp_path):
    """Frames of a GIF have the times that were given, and it repeats for ever."""
    frames = [Canvas((4, 4)), Canvas((4, 4))]
    frames[1].box((0, 0), (2, 2), RED)
    write_video(frames, tmp_path / "a.gif", [50, 120])
    times = []
    with Image.open(tmp_path / "a.gif") as video:
        assert (video.n_frames, video.info["loop"]) == (2, 0)
        for number in range(2):
            video.seek(number)
            times.append(video.info["duration"])
    assert times == [50, 120]


def test_without_pillow_the_extra_is_named(monkeypatch):
    """Where Pillow is missing the error says what to install."""

    def refuse(name):
        raise ImportError(name)

    monkeypatch.setattr(module, "import_module", refuse)
    with pytest.raises(module.MissingExtra) as told:
        Canvas((1, 1))
    assert str(told.value) == 'Pictures need Pillow: pip install "metro-wm[swm]"'

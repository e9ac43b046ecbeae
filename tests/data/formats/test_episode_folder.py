"""Laws of `metro.data.formats.episode_folder`."""

import re

import numpy as np
import pytest
from format_makers import film_folder, picture_folder, write_table, write_video
from PIL import Image

from metro.data.corpus import open_corpus
from metro.errors import CorpusError


def refused(place, message):
    """Open a folder and read its frames; the message says what is wrong."""
    with pytest.raises(CorpusError, match=re.escape(message)) as caught:
        read_all(place)
    assert "\n" not in str(caught.value)


def read_all(place):
    """Open a folder and read all frames."""
    with open_corpus(place) as corpus:
        for episode in range(corpus.num_episodes):
            corpus.frames(episode)


def test_pictures_are_in_the_order_of_their_numbers(tmp_path):
    """frame9 comes before frame10."""
    with open_corpus(picture_folder(tmp_path)) as corpus:
        greys = corpus.frames(2)[:, 0, 0, 0].astype(int)
        assert (np.diff(greys) == 15).all()
        assert corpus.columns == ["action", "pixels", "place"]


@pytest.mark.parametrize("maker", [picture_folder, film_folder])
def test_rows_and_frames_must_agree(tmp_path, maker):
    """Episode, frames and rows are said."""
    place = maker(tmp_path)
    if maker is film_folder:
        write_video(place / "take1.mp4", np.zeros((6, 32, 32, 3), np.uint8))
        refused(place, "episode take1 has 6 frames and 2 rows in actions.csv")
    else:
        (place / "take1" / "frame9.png").unlink()
        refused(place, "episode take1 has 2 frames and 3 rows in actions.csv")


def test_frames_of_another_size_or_kind_are_refused(tmp_path):
    """Both are said, with the file."""
    place = picture_folder(tmp_path)
    file = place / "take2" / "frame9.png"
    Image.new("RGB", (20, 16)).save(file)
    refused(place, f"{file} is 16 x 20 (mode RGB), the frames of its dataset are 32 x")
    Image.new("I;16", (32, 32)).save(file)
    refused(place, f"{file} has mode I;16, frames are 8-bit colour. Save it as RGB.")
    file.write_bytes(b"")
    refused(place, f"{file} cannot be read")


def test_videos_of_another_size_are_refused(tmp_path):
    """Both are said, with the file."""
    place = film_folder(tmp_path)
    write_video(place / "take1.mp4", np.zeros((3, 16, 48, 3), np.uint8))
    refused(place, f"{place}/take1.mp4 is 16 x 48 (video), the frames of its dataset")


def test_episodes_and_rows_belong_together(tmp_path):
    """Nothing is left out without a word."""
    place = picture_folder(tmp_path)
    (place / "take7").mkdir()
    refused(place, "actions.csv has no rows for 1 of 4 episodes, take7 is the first")
    (place / "take7").rmdir()
    (place / "take1").rename(tmp_path / ".hidden")
    refused(place, "episode take1 has neither take1.mp4 nor pictures in take1/")


def test_a_table_without_actions_lists_its_columns(tmp_path):
    """All that there are."""
    place = picture_folder(tmp_path)
    write_table(place, action="motor")
    refused(
        place,
        "actions.csv has no column action or action_0; it has episode, motor_0, "
        "motor_1, place_0.",
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("episode,action\n", "has no rows"),
        ("episode,action\ntake0,left\n", "cannot be read: could not convert"),
        ("episode,action\ntake0,1,2\n", "line 2 has 3 cells, the header has 2"),
        ("episode,action\na,1\nb,1\na,1\n", "the rows of episode a do not follow"),
        ("episode,action\n../take0,1\n", "'../take0' is no name of an episode"),
    ],
)
def test_tables_that_are_none_are_refused(tmp_path, table, message):
    """In one line."""
    place = picture_folder(tmp_path)
    (place / "actions.csv").write_text(table)
    refused(place, message)


def test_a_playlist_is_no_video(tmp_path):
    """A recording cannot make metro read other files."""
    place = film_folder(tmp_path)
    (place / "take1.mp4").write_text("#EXTM3U\n#EXTINF:1,\ntake0.mp4\n#EXT-X-ENDLIST\n")
    refused(place, "take1.mp4 cannot be read")

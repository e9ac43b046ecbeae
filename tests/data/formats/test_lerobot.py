"""Laws of `metro.data.formats.lerobot`: what a bad dataset is answered with."""

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from format_makers import lerobot, write_video

from metro.data.corpus import open_corpus
from metro.errors import CorpusError

VIDEO = "videos/observation.images.top/chunk-000/file-000.mp4"
TABLE = "data/chunk-000/file-000.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
AGAIN = " It may be half downloaded: fetch it again."


@pytest.fixture
def place(tmp_path):
    """The dataset with videos."""
    return lerobot(tmp_path)


def refused(place, message, **options):
    """Open a dataset, which is refused with this message; nothing is lost."""
    before = sorted(place.rglob("*"))
    with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
        open_corpus(place, **options)
    assert sorted(place.rglob("*")) == before


def change_info(place, **values):
    """Change some values of info.json."""
    file = place / "meta" / "info.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def change_table(file, change):
    """Rewrite a table."""
    pq.write_table(change(pq.read_table(file)), file)


@pytest.mark.parametrize("name", [VIDEO, TABLE])
def test_a_file_that_is_missing_is_named(place, name):
    """With how many of how many."""
    (place / name).unlink()
    message = f"{place} is half downloaded: 1 of 1 files are missing, {name} is the "
    refused(place, message + "first. Fetch it again.")


def test_episodes_that_are_missing_are_counted(place):
    """Against what the dataset promises of itself."""
    change_table(place / EPISODES, lambda table: table.slice(0, 2))
    message = (
        f"{place} has 2 episodes with 21 frames in meta/episodes, info.json promises 3 "
        "with 36."
    )
    refused(place, message + AGAIN)
    shutil.rmtree(place / "meta" / "episodes")
    refused(place, f"{place} has no meta/episodes.{AGAIN}")


def test_a_pointer_of_git_lfs_is_no_file(place):
    """What git leaves where the file itself was not fetched."""
    (place / TABLE).write_text("version https://git-lfs.github.com/spec/v1\noid x\n")
    message = f"{place / TABLE} is a Git LFS pointer, not the file itself: git lfs pull"
    refused(place, message)


def test_a_video_has_the_frames_of_its_table(place):
    """Both numbers are said, whichever is larger."""
    for frames in (35, 37):
        write_video(place / VIDEO, np.zeros((frames, 64, 64, 3), np.uint8))
        message = (
            f"{place / VIDEO} has {frames} frames, the tables have 36 rows for it: "
            "actions would not belong to frames."
        )
        refused(place, message + AGAIN)


def test_a_table_has_the_rows_of_its_episodes(place):
    """Both numbers are said."""
    change_table(place / TABLE, lambda table: table.slice(0, 30))
    refused(place, f"{place / TABLE} has 30 rows, its episodes have 36.{AGAIN}")


def test_rows_in_another_order_are_refused(place):
    """Frames would get the actions of others."""
    change_table(place / TABLE, lambda table: table.take(np.arange(36)[::-1]))
    message = (
        f"{place}: the rows of its tables are not in the order of episodes that "
        "meta/episodes has."
    )
    refused(place, message + AGAIN)


def test_a_video_of_another_size_is_refused(place):
    """Both sizes are said."""
    write_video(place / VIDEO, np.zeros((36, 32, 48, 3), np.uint8))
    message = (
        f"{place / VIDEO} is 32 x 48 (video), the frames of its dataset are 64 x 64: "
        "all must be alike. Leave it out or resize it."
    )
    refused(place, message)


def test_a_frame_that_is_missing_in_the_middle_does_not_move_the_others(
    place, monkeypatch
):
    """The episode is refused; the others are read."""
    info = json.loads((place / "meta" / "info.json").read_text())
    frames = np.zeros((36, 64, 64, 3), np.uint8)
    write_video(place / VIDEO, frames, fps=info["fps"] // 2)
    with open_corpus(place) as corpus, pytest.raises(CorpusError) as caught:
        corpus.frames(2)
    assert "has 0 frames from 2.10 s on, its episode has 15" in str(caught.value)


def test_an_empty_episode_is_refused(place):
    """With its number."""

    def empty(table):
        at = table.schema.get_field_index("length")
        return table.set_column(at, "length", pa.array([12, 24, 0]))

    change_table(place / EPISODES, empty)
    refused(place, f"{place} has no episodes, or empty ones [2]. Leave them out.")


def test_a_missing_action_is_said_where_it_is_needed(place):
    """Reading does not need it; what plans does."""
    info = json.loads((place / "meta" / "info.json").read_text())
    del info["features"]["action"]
    change_info(place, features=info["features"])
    with open_corpus(place) as corpus:
        assert corpus.action_size is None
        with pytest.raises(CorpusError, match="has no column 'action'"):
            corpus.column("action")


def test_an_older_version_is_named(place):
    """With the converter that lerobot has for it."""
    change_info(place, codebase_version="v2.1")
    message = (
        f"{place} is LeRobot v2.1, metro reads v3: convert it with lerobot's "
        "convert_dataset_v21_to_v30."
    )
    refused(place, message)


def test_files_outside_of_the_dataset_are_not_read(place):
    """A description from elsewhere cannot make metro read other files."""
    shutil.copytree(place / "data", place.parent / "data")
    pattern = "../data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
    change_info(place, data_path=pattern)
    message = (
        f"{place} names ../{TABLE}, which is outside of it; metro does not follow that."
    )
    refused(place, message + AGAIN)


def test_several_cameras_must_be_chosen_from(tmp_path):
    """None is taken without a word."""
    place = lerobot(tmp_path, "images")
    info = json.loads((place / "meta" / "info.json").read_text())
    info["features"]["wrist"] = info["features"]["observation.images.top"]
    change_info(place, features=info["features"])
    message = (
        f"{place} has several cameras: observation.images.top, wrist. Choose one with "
        "camera (--camera)."
    )
    refused(place, message)
    refused(
        place,
        f"{place} has no camera 'left'; it has observation.images.top, wrist.",
        camera="left",
    )
    with open_corpus(place, camera="observation.images.top") as corpus:
        assert corpus.frames(1).shape == (9, 64, 64, 3)


@pytest.mark.parametrize(
    "values",
    [
        {"fps": 0},
        {"fps": "10"},
        {"total_frames": None},
        {"data_path": 3},
        {"video_path": None},
        {"features": []},
        {"features": {"action": {"dtype": "float32", "shape": [-1]}}},
        {"features": {"action": {"dtype": 3, "shape": [1]}}},
    ],
)
def test_a_description_of_other_types_is_one_line(place, values):
    """Whatever it has instead."""
    change_info(place, **values)
    with pytest.raises(CorpusError) as caught:
        open_corpus(place)
    assert str(place) in str(caught.value)
    assert "\n" not in str(caught.value)

"""Laws of `metro.data.formats.video`."""

import os
import re

import cv2
import numpy as np
import pytest
from corpus_makers import LENGTHS

from metro.data.corpus import open_corpus
from metro.errors import CorpusError


@pytest.fixture
def films(tmp_path):
    """Three episodes of grey pictures, laid out as swm's writer lays out videos."""
    greys = np.arange(LENGTHS.sum()) * 15 + 20
    (tmp_path / "films" / "pixels").mkdir(parents=True)
    codec = cv2.VideoWriter.fourcc(*"mp4v")
    for episode, part in enumerate(np.split(greys, np.cumsum(LENGTHS)[:-1])):
        file = tmp_path / "films" / "pixels" / f"ep_{episode}.mp4"
        writer = cv2.VideoWriter(str(file), codec, 25, (32, 32))
        for grey in part:
            picture = np.full((32, 32, 3), grey, np.uint8)
            picture[:, 16:, 0] = 255  # blue, as OpenCV orders colours
            writer.write(picture)
        writer.release()
    for name, values in (
        *(("ep_len", LENGTHS), ("ep_offset", np.cumsum(LENGTHS) - LENGTHS)),
        ("action", np.arange(24.0).reshape(12, 2)),
    ):
        np.savez(tmp_path / "films" / name, values)
    return tmp_path / "films", greys


def test_a_folder_of_videos(films):
    """Frames in their order, colours in ours, columns as they are."""
    folder, greys = films
    with open_corpus(folder) as corpus:
        np.testing.assert_array_equal(corpus.lengths, LENGTHS)
        assert corpus.image_size == 32
        frames = np.concatenate([corpus.frames(episode) for episode in range(3)])
        np.testing.assert_allclose(frames[:, 4, 4, 0], greys, atol=12)
        assert (frames[:, 4, 28, 2] > 200).all()
        assert (np.abs(frames[:, 4, 28, 0] - greys) < 60).all()
        np.testing.assert_array_equal(corpus.column("action")[5], [10, 11])
        assert len(corpus.digest) == 64


def test_a_video_that_is_too_short_is_told(films):
    """With both numbers."""
    folder, _ = films
    np.savez(folder / "ep_len", LENGTHS + np.array([0, 0, 2]))
    np.savez(folder / "action", np.zeros((14, 2)))
    message = (
        f"{folder}/pixels/ep_2.mp4 has 5 frames that can be read, its episode has 7. "
        "Record it or fetch it again."
    )
    with (
        open_corpus(folder) as corpus,
        pytest.raises(CorpusError, match=f"^{re.escape(message)}$"),
    ):
        corpus.frames(2)
    (folder / "action.npz").write_text("hello")
    with pytest.raises(CorpusError, match=r"action\.npz cannot be read: "):
        open_corpus(folder)


@pytest.mark.parametrize("lengths", [["a", "b"], [[5, 7]], [1.5, 2.0], []])
def test_lengths_that_are_none_are_one_line(films, lengths):
    """Whatever the file of lengths holds."""
    folder, _ = films
    np.savez(folder / "ep_len", np.array(lengths))
    (folder / "ep_offset.npz").unlink()
    with pytest.raises(CorpusError, match="^[^\n]*films[^\n]*$"):
        open_corpus(folder)


def test_no_more_frames_are_asked_for_than_there_are(films):
    """A length of any size costs as much as the video."""
    folder, _ = films
    np.savez(folder / "ep_len", np.array([2**40]))
    (folder / "action.npz").unlink()
    (folder / "ep_offset.npz").unlink()
    with (
        open_corpus(folder) as corpus,
        pytest.raises(CorpusError, match="ep_0.mp4 has . frames"),
    ):
        corpus.frames(0)


def test_a_pipe_among_the_videos_is_refused(films):
    """OpenCV would wait for a writer."""
    folder, _ = films
    (folder / "pixels" / "ep_1.mp4").unlink()
    os.mkfifo(folder / "pixels" / "ep_1.mp4")
    with pytest.raises(CorpusError, match="ep_1.mp4 is a pipe"):
        open_corpus(folder)

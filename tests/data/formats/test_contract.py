"""What holds of every format: the same episodes, frames, columns, digest."""

import numpy as np
import pytest
from corpus_makers import LENGTHS
from format_makers import LOSSY, MAKERS, STARTS, lerobot, make_rows

from metro.data.corpus import open_corpus
from metro.errors import CorpusError


@pytest.fixture(params=MAKERS)
def made(request, tmp_path):
    """The three episodes in one format."""
    return request.param, MAKERS[request.param](tmp_path)


def test_episodes_frames_and_columns_are_those_that_were_written(made):
    """Lengths and actions exactly; frames as exactly as the format keeps them."""
    name, path = made
    rows = make_rows()
    with open_corpus(path) as corpus:
        np.testing.assert_array_equal(corpus.lengths, LENGTHS)
        np.testing.assert_array_equal(corpus.offsets, STARTS)
        assert (corpus.num_episodes, corpus.num_frames) == (3, 12)
        assert corpus.frame_shape == (32, 32, 3)
        assert corpus.action_size == 2
        assert corpus.kind
        frames = np.concatenate([corpus.frames(e) for e in (0, 1, 2)])
        assert frames.dtype == np.uint8
        most = 12 if name in LOSSY else 0
        # Codecs blur the edge in the middle.
        for part in (slice(0, 12), slice(20, 32)):
            wrong = frames[:, :, part].astype(int) - rows["pixels"][:, :, part]
            assert np.abs(wrong).max() <= most
        np.testing.assert_allclose(actions(corpus), actions_of(rows), rtol=1e-6)
        for column in corpus.columns:
            if column != "pixels":
                assert corpus.column(column).shape == corpus.shapes[column]


def actions_of(rows):
    """Return the actions but those of last frames, which some formats leave out."""
    kept = np.setdiff1d(np.arange(12), STARTS + LENGTHS - 1)
    return rows["action"][kept]


def actions(corpus):
    """Return them of a corpus."""
    return actions_of({"action": corpus.column("action")})


def test_episodes_are_read_in_any_order_and_several_times(made):
    """Going back gives the same frames, whole or only the first of them."""
    _, path = made
    with open_corpus(path) as corpus:
        forward = [corpus.frames(episode) for episode in (0, 1, 2)]
        for episode in (2, 0, 1, 1):
            np.testing.assert_array_equal(corpus.frames(episode), forward[episode])
            first = corpus._source.read_frames(episode, 2)
            np.testing.assert_array_equal(first, forward[episode][:2])


def test_the_digest_is_that_of_the_content(made):
    """Opening twice gives the same; nothing is kept open, or changed on disk."""
    _, path = made
    digests = set()
    for _ in range(2):
        with open_corpus(path) as corpus:
            digests.add(corpus.digest)
    assert len(digests) == 1


def test_lossless_formats_of_the_same_columns_have_one_digest(tmp_path):
    """It is of contents, not of files."""
    digests = set()
    for name in ("minimal_hdf5", "released_hdf5", "plain_npz", "packed_npz", "ogbench"):
        (tmp_path / name).mkdir()
        with open_corpus(MAKERS[name](tmp_path / name)) as corpus:
            digests.add(corpus.digest)
    assert len(digests) == 1


@pytest.mark.parametrize("kind", ["video", "images"])
def test_what_lerobot_wrote_is_read(tmp_path, kind):
    """Every frame is that of its step: frames and rows belong together."""
    with open_corpus(lerobot(tmp_path, kind)) as corpus:
        assert corpus.kind == "LeRobot v3.0"
        np.testing.assert_array_equal(corpus.lengths, [12, 9, 15])
        assert corpus.image_size == 64
        assert corpus.column("observation.state").shape == (36, 2)
        state, action = corpus.column("observation.state"), corpus.column("action")
        for episode in (2, 0, 1):
            frames = corpus.frames(episode)
            bars = (frames[:, 1, :, 2] > 128).sum(axis=1)
            np.testing.assert_allclose(bars, 4 * np.arange(len(frames)), atol=1)
            first = corpus.offsets[episode]
            # The square is where the state says, one pixel apart or so.
            for step in (0, len(frames) - 1):
                rows, columns = np.nonzero(frames[step, 4:, :, 0] > 150)
                if step == 0:
                    seen = [columns.mean(), rows.mean() + 4]
                    np.testing.assert_allclose(seen, state[first], atol=2)
            moved = np.clip(state[first] + 4 * action[first], 8, 56)
            np.testing.assert_allclose(state[first + 1], moved, rtol=1e-5)


def read_all(path):
    """Open a corpus and read all of its frames."""
    with open_corpus(path) as corpus:
        for episode in range(corpus.num_episodes):
            corpus.frames(episode)


@pytest.mark.parametrize("name", [*MAKERS, "lerobot"])
def test_half_of_any_file_is_one_line(tmp_path, name):
    """Cut in the middle, a file is refused when it is opened, or when it is read."""
    maker = MAKERS.get(name, lerobot)
    path = maker(tmp_path)
    files = sorted(f for f in [*path.rglob("*"), path] if f.is_file())
    for file in files:
        if file.name in ("stats.json", "tasks.parquet", "place.npy"):
            continue
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
        with pytest.raises(CorpusError) as caught:
            read_all(path)
        assert "\n" not in str(caught.value)
        assert str(path) in str(caught.value)
        file.write_bytes(content)

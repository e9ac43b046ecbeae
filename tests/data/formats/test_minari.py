"""Laws of `metro.data.formats.minari`."""

import json
import re

import h5py
import numpy as np
import pytest
from corpus_makers import LENGTHS
from format_makers import minari

from metro.data.corpus import open_corpus
from metro.errors import CorpusError


@pytest.fixture
def place(tmp_path):
    """A dataset with raw pictures."""
    return minari(tmp_path)


def altered(place):
    """Open its file for changes."""
    return h5py.File(place / "data" / "main_data.hdf5", "a")


def refused(place, message):
    """Open a dataset, which is refused with this message."""
    with pytest.raises(CorpusError, match=re.escape(message)) as caught:
        open_corpus(place)
    assert "\n" not in str(caught.value)


def test_what_the_last_frame_has_not_is_nan(place):
    """One action less than frames: the last has none, as in the released corpora."""
    with open_corpus(place) as corpus:
        missing = np.isnan(corpus.column("action")).all(axis=1)
        np.testing.assert_array_equal(np.flatnonzero(missing), [3, 6, 11])
        assert corpus.column("action").dtype == np.float32
        assert np.isnan(corpus.column("rewards")).sum() == 3
        assert corpus.columns == ["action", "pixels", "place", "rewards"]


@pytest.mark.parametrize("where", ["", "data", "data/main_data.hdf5"])
def test_its_folder_or_its_file_may_be_named(place, where):
    """All mean the same."""
    with open_corpus(place / where) as corpus:
        np.testing.assert_array_equal(corpus.lengths, LENGTHS)


def test_episodes_that_are_missing_are_counted(place):
    """Against what the dataset promises of itself."""
    with altered(place) as file:
        del file["episode_2"]
    refused(place, "has 2 episodes, metadata.json promises 3. It may be half written")
    with altered(place) as file:
        file.move("episode_1", "episode_7")
    refused(place, "has no episode_1.")


def test_actions_that_do_not_fit_are_refused(place):
    """Neither as many as frames nor one less."""
    with altered(place) as file:
        actions = file["episode_1/actions"][:-1]
        del file["episode_1/actions"]
        file["episode_1/actions"] = actions
    refused(
        place, "episode 1 has 3 frames and 1 actions; there must be one action less"
    )
    with altered(place) as file:
        del file["episode_1/actions"]
    refused(place, "episode 1 has no actions.")


def test_frames_of_another_size_or_type_are_refused(place):
    """Both are said."""
    with altered(place) as file:
        del file["episode_2/observations/image"]
        file["episode_2/observations/image"] = np.zeros((5, 16, 32, 3), np.uint8)
    refused(
        place, "episode 2, is 16 x 32 (uint8), the frames of its dataset are 32 x 32"
    )
    with altered(place) as file:
        del file["episode_2/observations/image"]
        file["episode_2/observations/image"] = np.zeros((5, 32, 32, 3), np.float32)
    refused(
        place,
        "episode 2, has frames [32, 32, 3] float32, the first [32, 32, 3] uint8",
    )


def test_groups_that_contain_themselves_and_other_files_are_not_followed(place):
    """A dataset from elsewhere ends, and cannot make metro read other files."""
    with altered(place) as file:
        file["episode_0/observations/again"] = file["episode_0"]
    with open_corpus(place) as corpus:
        assert corpus.columns == ["action", "pixels", "place", "rewards"]
    with altered(place) as file:
        file["episode_1/observations/else"] = h5py.ExternalLink("other.h5", "x")
    refused(place, "else lies in another file, which metro does not follow")


def test_states_are_no_pictures(place):
    """A dataset without frames is told what metro needs."""
    with altered(place) as file:
        for number in range(3):
            del file[f"episode_{number}/observations/image"]
    refused(place, "has no pictures: metro plans from pictures.")


def test_a_note_that_is_damaged_is_one_line(place):
    """It names the note."""
    (place / "data" / "metadata.json").write_text("{")
    refused(place, "metadata.json cannot be read")
    (place / "data" / "metadata.json").write_text(json.dumps([]))
    refused(place, "metadata.json cannot be read")

"""Laws of `metro.data.formats.ogbench`."""

import numpy as np
import pytest
from format_makers import ogbench

from metro.data.corpus import open_corpus
from metro.errors import CorpusError


def test_states_are_no_pictures(tmp_path):
    """The dataset to fetch instead is named."""
    np.savez(
        tmp_path / "x.npz",
        observations=np.zeros((4, 29)),
        actions=np.zeros((4, 2)),
        terminals=np.array([0, 0, 0, 1]),
    )
    message = r"observations of shape \[4, 29\], which are no pictures.*visual-"
    with pytest.raises(CorpusError, match=message):
        open_corpus(tmp_path / "x.npz")


@pytest.mark.parametrize("ends", [np.zeros(12), np.eye(12)[3], np.ones(11)])
def test_an_episode_without_an_end_is_refused(tmp_path, ends):
    """What is cut short is not taken for whole."""
    with np.load(ogbench(tmp_path)) as archive:
        arrays = dict(archive)
    np.savez(tmp_path / "y.npz", **arrays | {"terminals": ends})
    with pytest.raises(CorpusError, match="last of its 12 rows ends no episode"):
        open_corpus(tmp_path / "y.npz")

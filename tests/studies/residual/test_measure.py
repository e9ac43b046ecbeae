"""One latent measured: its warm starts, and what does not fit."""

from dataclasses import replace

import numpy as np
import pytest

from metro.errors import LatentsError
from metro.storage.artefacts import load
from metro.studies.residual.measure import SearchContext


def test_own_episodes_are_left_out_of_the_starts(searched):
    """A search that is handed the answer tests nothing."""
    context, latents = (
        SearchContext(searched.source, searched.latents),
        load(searched.latents),
    )
    frames, gaps = context.nearest(latents.z[100], 8)
    context.close()
    episodes = latents.episode_of(frames)
    assert int(latents.episode_of(100)) not in episodes
    assert len(set(episodes.tolist())) == 8
    assert (np.diff(gaps) >= 0).all()


def test_latents_of_another_model_are_refused(searched):
    """Gaps between latents of two models mean nothing."""
    other = replace(searched.source, model="pldm-small-tworoom")
    with pytest.raises(LatentsError, match="^The latents were made from another mo"):
        SearchContext(other, searched.latents)

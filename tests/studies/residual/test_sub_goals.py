"""Sub-goals of runs: kept on disk, and recorded frames for metro."""

import re

import numpy as np
import pytest

from metro.errors import MetroError
from metro.storage.artefacts import load
from metro.studies.residual.sub_goals import load_sub_goals
from metro.studies.residual.targets import sub_goal_targets


def test_sub_goals_are_kept_with_their_provenance(sub_goals):
    """Metro's are recorded frames, none is the goal itself, none comes twice."""
    found, path = sub_goals
    kept = load_sub_goals(path)
    assert np.array_equal(kept.latents, found.latents)
    assert kept.provenance["setting"]["method"] == "metro"
    assert kept.where.shape == (len(kept.latents), 4)
    targets = sub_goal_targets(kept, count=2, seed=0)
    more = sub_goal_targets(kept, count=3, seed=0)
    assert np.array_equal(more.z[:2], targets.z)


def test_metro_sub_goals_are_recorded_frames(searched, sub_goals):
    """Every sub-goal is the latent of a frame of another episode."""
    found, _ = sub_goals
    latents = load(searched.latents)
    for latent, (episode, *_) in zip(found.latents, found.where, strict=True):
        (frame, *_) = np.flatnonzero((latents.z == latent).all(axis=1))
        assert latents.episode_of(frame) != episode


def test_a_broken_file_is_refused(tmp_path):
    """The error says which file to delete."""
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"no")
    with pytest.raises(MetroError, match=re.escape(f"{broken} has no sub-goals")):
        load_sub_goals(broken)

"""Latents, actions and the model they belong to: checked, and put together."""

from dataclasses import asdict

import numpy as np

from metro.core.latents import Latents
from metro.errors import ModelError
from metro.models.action_stats import raw_actions, stats_for
from metro.models.frozen import FrozenModel
from metro.models.macro.windows import Trajectories
from metro.storage.made_from import Provenance
from metro.types import CorpusLike


def make_trajectories(
    latents: Latents, corpus: CorpusLike, model: FrozenModel
) -> Trajectories:
    """Return latents beside the corpus' normalised actions.

    Args:
        latents: Made by ``metro encode`` from this corpus with this model.
        corpus: The recording.
        model: The frozen world model. Released ones do not know how actions are
            normalised; then the corpus decides, as in the published code.
    """
    require_latents_of(latents, corpus, model)
    made = Provenance.of(latents)
    return Trajectories(
        np.asarray(latents.z),
        stats_for(model, corpus).normalise(raw_actions(corpus)),
        np.asarray(corpus.lengths),
        {
            "corpus": asdict(made.corpus),
            "model": asdict(made.model),
            "latents": latents.digest,
        },
    )


def require_latents_of(
    latents: Latents, corpus: CorpusLike, model: FrozenModel
) -> None:
    """Raise a `MetroError` unless ``latents`` are those of this corpus and model."""
    Provenance.of(latents).require(model=model.digest, corpus=corpus.digest)
    if not np.array_equal(latents.episode_lengths, corpus.lengths):
        raise ModelError(
            f"The latents have {latents.num_episodes} episodes with other lengths than "
            f"the {corpus.num_episodes} of {corpus.name}. Encode it again."
        )

"""Latents, actions and the model they belong to: checked, and put together."""

from typing import Any

import numpy as np

from metro.core.latents import Latents
from metro.errors import ModelError
from metro.models.action_stats import raw_actions, stats_for
from metro.models.frozen import FrozenModel
from metro.models.macro.windows import Trajectories
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
    return Trajectories(
        np.asarray(latents.z),
        stats_for(model, corpus).normalise(raw_actions(corpus)),
        np.asarray(corpus.lengths),
        {
            "corpus": _digest(latents, "corpus") | {"name": _name(latents, "corpus")},
            "model": _digest(latents, "model") | {"name": _name(latents, "model")},
            "latents": latents.digest,
        },
    )


def require_latents_of(
    latents: Latents, corpus: CorpusLike, model: FrozenModel
) -> None:
    """Raise `ModelError` unless ``latents`` are those of this corpus and model."""
    wanted = {"model": model.digest, "corpus": corpus.digest}
    for part, digest in wanted.items():
        got = _digest(latents, part)["digest"]
        if got != digest:
            raise ModelError(
                f"The latents are of {part} {str(got)[:12]}, not of {digest[:12]}. "
                f"Encode anew: metro encode {corpus.name} --model {model.name}."
            )
    if not np.array_equal(latents.episode_lengths, corpus.lengths):
        raise ModelError(
            f"The latents have {latents.num_episodes} episodes with other lengths than "
            f"the {corpus.num_episodes} of {corpus.name}. Encode it anew."
        )


def _digest(latents: Latents, part: str) -> dict[str, Any]:
    return {"digest": latents.provenance.get(part, {}).get("digest")}


def _name(latents: Latents, part: str) -> Any:
    return latents.provenance.get(part, {}).get("name")

"""The recorded actions, and a model's knowledge of how they are spread."""

import numpy as np
from numpy.typing import NDArray

from metro.models.frozen import FrozenModel
from metro.types import CorpusLike


def learn_missing_scaling(model: FrozenModel, corpus: CorpusLike) -> None:
    """Tell a model that does not know it how the corpus' actions are spread.

    Released models do not; the published code takes it from the corpus too.
    """
    if model.action_mean is None:
        model.learn_scaling(raw_actions(corpus))


def raw_actions(corpus: CorpusLike) -> NDArray[np.float32]:
    """Return the recorded actions ``[N, A]``, NaN where there is none."""
    actions = np.asarray(corpus.column("action"), dtype=np.float32)
    return actions.reshape(len(actions), -1)

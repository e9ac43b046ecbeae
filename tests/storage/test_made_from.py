"""Latents say what they were made from, and are refused with anything else."""

import re

import pytest

from metro.core.latents import Latents
from metro.errors import LatentsError
from metro.storage.made_from import Provenance

MODEL, CORPUS = "0123456789abcdef", "fedcba9876543210"


def latents_of(**provenance):
    return Latents([[0.0], [1.0]], [0, 2], provenance)


def made_of_both():
    model = {"name": "tiny", "digest": MODEL}
    return latents_of(model=model, corpus={"digest": CORPUS})


def test_latents_of_this_model_and_corpus_are_accepted():
    """Both digests must be the recorded ones; a part that is not given is not asked."""
    made = Provenance.of(made_of_both())
    made.require(model=MODEL, corpus=CORPUS)
    made.require(model=MODEL)
    made.require(corpus=CORPUS)
    assert made.is_of(MODEL, CORPUS)
    assert not made.is_of(CORPUS, MODEL)


def test_latents_of_another_model_are_refused():
    """The error names what they were made from, what was given, and what to do."""
    message = (
        "The latents were made from another model: tiny (0123456789ab), not the given "
        "one (aaaaaaaaaaaa). Encode the corpus with the model again (metro encode), "
        "and build the graph from that (metro build)."
    )
    with pytest.raises(LatentsError, match=f"^{re.escape(message)}$"):
        Provenance.of(made_of_both()).require(model=64 * "a", corpus=CORPUS)


def test_latents_of_another_corpus_are_refused():
    """Also where unrecorded sources are accepted: this one is recorded."""
    made = Provenance.of(made_of_both())
    for accept in (False, True):
        with pytest.raises(LatentsError, match=r"another corpus: fedcba987654, not"):
            made.require(corpus=64 * "a", or_unrecorded=accept)


@pytest.mark.parametrize("recorded", [{}, {"model": "mine"}, {"model": {"name": "m"}}])
def test_latents_that_do_not_say_are_accepted_only_where_allowed(recorded):
    """A user's own arrays may be used for planning, not for comparisons."""
    made = Provenance.of(latents_of(**recorded))
    made.require(model=MODEL, or_unrecorded=True)
    with pytest.raises(LatentsError, match="another model: .*not recorded"):
        made.require(model=MODEL)

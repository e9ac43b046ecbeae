"""Laws of `metro.data.provenance`: what does not belong together is refused."""

import re

import numpy as np
import pytest
from model_makers import make_footage, make_model

from metro.data.corpus import open_corpus
from metro.data.encode import encode_corpus
from metro.errors import CorpusError


@pytest.fixture
def footage():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


@pytest.fixture
def corpus(footage, tmp_path):
    """Its corpus, opened."""
    folder = tmp_path / "dots"
    folder.mkdir()
    np.save(folder / "pixels.npy", footage.pixels)
    np.save(folder / "action.npy", footage.actions)
    np.save(folder / "ep_len.npy", footage.lengths)
    with open_corpus(folder) as opened:
        yield opened


@pytest.fixture
def model():
    """A tiny model with random weights."""
    return make_model(notes={"name": "tiny"})


def test_frames_of_another_size_are_told(corpus, model, tmp_path):
    """The message names both sizes and the option."""
    model.image_size = 64
    message = (
        f"{corpus.name} has frames of 16 px, tiny takes 64 px. "
        f"Record with --image-size 64."
    )
    with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
        encode_corpus(corpus, model, tmp_path / "dots.latents")


def test_frames_of_another_rendering_are_told(corpus, model, tmp_path):
    """Stock frames are not for models that were trained on fast ones."""
    corpus.rendering, model.rendering = "stock", "fast"
    message = (
        f"{corpus.name} was drawn with rendering stock, tiny needs fast. "
        f"Record with --rendering fast."
    )
    with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
        encode_corpus(corpus, model, tmp_path / "dots.latents")


def test_a_corpus_of_another_benchmark_is_told(corpus, model, tmp_path):
    """A model of one benchmark does not encode another."""
    corpus.benchmark = "reacher"
    message = (
        f"{corpus.name} is a recording of reacher, tiny is a model of tworoom. "
        f"Give the one that belongs to the other."
    )
    with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
        encode_corpus(corpus, model, tmp_path / "dots.latents")


def test_actions_of_another_size_are_told(corpus, model, tmp_path):
    """Without a benchmark's name the actions tell."""
    model.action_size = 5
    message = (
        f"{corpus.name} has actions of 2 numbers, tiny takes 5. "
        f"It is a recording of something else."
    )
    with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
        encode_corpus(corpus, model, tmp_path / "dots.latents")

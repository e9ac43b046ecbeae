"""Laws of the causal transformer that predicts latents."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from model_makers import TINY, scramble
from numpy.testing import assert_allclose
from torch.testing import assert_close

from metro.models.predictor import Attention, ConditionalBlock, Predictor

SIZES = replace(TINY, depth=2, num_frames=4)


@pytest.fixture
def predictor():
    torch.manual_seed(0)
    network = Predictor(SIZES).eval().requires_grad_(False)
    scramble(network)
    return network


def make_inputs(batch=3, frames=4):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(2, batch, frames, SIZES.latent_size, generator=generator)


def attend_slowly(attention, x):
    """Attention of tokens ``[T, D]``, one head and one token at a time."""
    normed = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    query, key, value = np.split(normed @ attention.to_qkv.weight.numpy().T, 3, axis=1)
    size = query.shape[1] // attention.heads
    mixed = np.zeros_like(value)
    for first in range(0, query.shape[1], size):
        part = slice(first, first + size)
        for token in range(len(x)):
            scores = key[: token + 1, part] @ query[token, part] / np.sqrt(size)
            weights = np.exp(scores) / np.exp(scores).sum()
            mixed[token, part] = weights @ value[: token + 1, part]
    output = attention.to_out[0]
    return mixed @ output.weight.numpy().T + output.bias.numpy()


def test_attention_equals_its_formula():
    """A token mixes the values of itself and those before it, head by head."""
    torch.manual_seed(0)
    attention = Attention(8, heads=2, head_size=4, dropout=0.5).eval()
    attention.requires_grad_(False)
    x = make_inputs()[0]
    for found, tokens in zip(attention(x), x, strict=True):
        assert_allclose(found, attend_slowly(attention, tokens.numpy()), atol=1e-5)


@pytest.mark.parametrize("kind", [0, 1], ids=["latent", "action"])
@pytest.mark.parametrize("moment", [1, 2, 3])
def test_later_inputs_change_no_earlier_prediction(predictor, kind, moment):
    """A latent or an action moves the predictions from its moment on, none before."""
    inputs = make_inputs()
    before = predictor(*inputs)
    # Not a constant: layer norm would take that away again.
    inputs[kind, :, moment] *= -2
    after = predictor(*inputs)
    assert_close(after[:, :moment], before[:, :moment])
    assert ((after - before)[:, moment:].abs().amax(-1) > 1e-5).all()


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_a_short_context_gives_the_first_predictions(predictor, frames):
    """Predictions of the first frames are those of a context that ends there."""
    z, actions = make_inputs()
    short = predictor(z[:, :frames], actions[:, :frames])
    assert_close(short, predictor(z, actions)[:, :frames])


def test_sequences_are_predicted_independently(predictor):
    """Predictions of a permuted batch are the permuted predictions."""
    z, actions = make_inputs()
    order = [2, 0, 1]
    assert_close(predictor(z[order], actions[order]), predictor(z, actions)[order])


def test_a_fresh_block_is_the_identity():
    """Modulation starts at zero, so that a block changes no token at first."""
    z, actions = make_inputs()
    block = ConditionalBlock(SIZES)
    assert torch.equal(block(z, actions), z)
    scramble(block)
    assert not torch.equal(block(z, actions), z)


def test_dropout_is_for_training_only():
    """In evaluation mode a call repeats itself, in training mode it does not."""
    torch.manual_seed(0)
    block, inputs = ConditionalBlock(replace(SIZES, dropout=0.5)), make_inputs()
    scramble(block)
    assert not torch.equal(block(*inputs), block(*inputs))
    block.eval()
    assert torch.equal(block(*inputs), block(*inputs))

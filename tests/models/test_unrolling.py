"""Laws of the unrolled predictor: the same numbers as the plain way."""

from dataclasses import replace

import pytest
import torch
from model_makers import TINY, make_model
from torch.testing import assert_close

from metro.models.unrolling import Outcomes, unroll


def make_network(**changes):
    return make_model(replace(TINY, **changes)).network


def make_inputs(batch, steps, *, seed=0):
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(batch, TINY.latent_size, generator=generator)
    return z, torch.randn(batch, steps, TINY.action_size, generator=generator)


def unroll_slowly(network, z, blocks):
    """Feed the last latents and actions to the predictor for every new latent."""
    latents, window = [z], network.sizes.num_frames
    for step in range(1, blocks.shape[1] + 1):
        context = torch.stack(latents[-window:], dim=1)
        actions = blocks[:, max(0, step - window) : step]
        latents.append(network.predict(context, actions)[:, -1])
    return torch.stack(latents[1:], dim=1)


@torch.no_grad()
@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("num_frames", [1, 3])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 7])
def test_unrolling_is_the_predictor_step_by_step(depth, num_frames, steps):
    """Alone, while the context grows and while it slides: the numbers are the same."""
    network = make_network(depth=depth, num_frames=num_frames)
    inputs = make_inputs(5, steps)
    found, expected = unroll(network, *inputs), unroll_slowly(network, *inputs)
    assert_close(found, expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_a_later_action_changes_no_earlier_latent():
    """An action changes the latents after it, and none before it."""
    network, (z, blocks) = make_network(depth=2), make_inputs(3, 6)
    before = unroll(network, z, blocks)
    blocks[:, 3] += 1
    after = unroll(network, z, blocks)
    assert torch.equal(after[:, :3], before[:, :3])
    assert (after[:, 3:] != before[:, 3:]).any(dim=-1).all()


@torch.no_grad()
def test_fewer_steps_are_the_beginning_of_more():
    """A plan's first latents do not depend on how long the plan is."""
    network, (z, blocks) = make_network(depth=2), make_inputs(4, 6)
    whole = unroll(network, z, blocks)
    for steps in range(1, 6):
        short = unroll(network, z, blocks[:, :steps])
        assert_close(short, whole[:, :steps], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_sequences_do_not_see_each_other():
    """A sequence is unrolled alike alone and in any company."""
    network, (z, blocks) = make_network(depth=2), make_inputs(6, 5)
    together = unroll(network, z, blocks)
    alone = [unroll(network, z[i : i + 1], blocks[i : i + 1]) for i in range(6)]
    assert_close(together, torch.cat(alone), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_nothing_is_remembered_between_two_plans():
    """Keys and values are kept within one call only."""
    network, inputs = make_network(depth=2), make_inputs(3, 4)
    first = unroll(network, *inputs)
    unroll(network, *make_inputs(3, 4, seed=1))
    assert torch.equal(unroll(network, *inputs), first)


@torch.no_grad()
def test_outcomes_are_those_of_every_block_alone():
    """What blocks do is computed once; every latent goes through each of them."""
    network, (z, _) = make_network(depth=2), make_inputs(4, 1)
    _, blocks = make_inputs(3, 1, seed=1)
    found = Outcomes(network, blocks[:, 0])(z)
    for number, block in enumerate(blocks):
        alone = unroll(network, z, block.expand(len(z), 1, -1))[:, 0]
        assert_close(found[:, number], alone, rtol=1e-4, atol=1e-5)

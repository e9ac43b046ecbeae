"""The predictor unrolled for planning: the same numbers with a fraction of the work.

The plain way feeds the whole context to the predictor for every new latent. But while
the context grows, earlier tokens do not change (attention is causal), so their keys and
values are kept; actions modulate a block the same way wherever they stand in the
context, so that is computed once, for all steps together; of the last block only the
last token is needed; and a single step is a chain of small linear maps.
Letters: B sequences, T blocks of actions, n tokens, D latent size.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from metro.models.predictor import Attention, ConditionalBlock


def unroll(network: Any, z: Tensor, blocks: Tensor) -> Tensor:
    """Return ``[B, T, D]``, the latents after each block of actions.

    Args:
        network: A `WorldModelNetwork` in evaluation mode, or what has its predictor,
            action encoder and prediction projector.
        z: ``[B, D]`` present latents.
        blocks: ``[B, T, A * 5]`` normalised actions.
    """
    places = network.predictor.pos_embedding[0]
    window = len(places)
    transformer = network.predictor.transformer
    conditions = functional.silu(network.action_encoder(blocks))
    # For one step only: with more, keys and values of a token are needed again.
    alone = blocks.shape[1] == 1
    layers = [_Layer(block, conditions, alone=alone) for block in transformer.layers]
    latents = [z]
    for step in range(blocks.shape[1]):
        first = max(0, step + 1 - window)
        # Once the window slides, every token gets another place: nothing can be kept.
        grows = first == 0
        if grows:
            x = (latents[-1] + places[step])[:, None]
        else:
            x = torch.stack(latents[first:], dim=1) + places
        for number, layer in enumerate(layers):
            moments = slice(step if grows else first, step + 1)
            last = number == len(layers) - 1
            x = layer(x, moments, grows=grows, last=last)
        latents.append(network.pred_proj(transformer.norm(x[:, -1])))
    return torch.stack(latents[1:], dim=1)


class Outcomes:
    """What every one of a few action blocks leads to, from any latent.

    What the blocks do to the predictor is computed once, for all latents.

    Args:
        network: In evaluation mode.
        blocks: ``[S, A * 5]`` normalised actions.
    """

    def __init__(self, network: Any, blocks: Tensor) -> None:
        self._network = network
        conditions = functional.silu(network.action_encoder(blocks[None]))
        # The blocks stand where steps do, and none of them sees another.
        self._layers = [
            _Layer(block, conditions, alone=True)
            for block in network.predictor.transformer.layers
        ]

    def __call__(self, z: Tensor) -> Tensor:
        """Return ``[B, S, D]``, the latents one block after ``z`` ``[B, D]``."""
        network = self._network
        x = (z + network.predictor.pos_embedding[0, 0])[:, None]
        for layer in self._layers:
            x = layer(x, slice(None), grows=False, last=False)
        tokens = network.predictor.transformer.norm(x)
        return network.pred_proj(tokens.flatten(0, 1)).unflatten(0, tokens.shape[:2])


class _Layer:
    """One block of the predictor: what actions do to it, what it remembers.

    Args:
        block: One block of the predictor.
        conditions: ``[B, T, D]`` SiLU of the embedded actions, of all steps.
        alone: Whether every token sees itself only.
    """

    def __init__(
        self, block: ConditionalBlock, conditions: Tensor, *, alone: bool
    ) -> None:
        self._block = block
        linear: Any = block.adaLN_modulation[1]
        # (s1, k1, g1, s2, k2, g2); k1 and k2 are used as 1 + k only
        ones = linear.bias.new_tensor([0, 1, 0, 0, 1, 0])
        bias = linear.bias + ones.repeat_interleave(len(linear.bias) // 6)
        made = functional.linear(conditions, linear.weight, bias)
        self._modulations = made.chunk(6, dim=-1)
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self._alone = _fold_alone(block.attn) if alone else None

    def __call__(self, x: Tensor, moments: slice, *, grows: bool, last: bool) -> Tensor:
        """Return the tokens ``[B, n, D]`` after the block; of the ``last`` only one.

        Args:
            x: ``[B, n, D]`` tokens.
            moments: The n steps whose tokens they are.
            grows: Whether the past is still within the context.
            last: Whether no block follows.
        """
        block = self._block
        s1, k1, g1, s2, k2, g2 = (part[:, moments] for part in self._modulations)
        inputs = block.attn.norm(torch.addcmul(s1, block.norm1(x), k1))
        mixed = self._attend(inputs, grows=grows, last=last)
        if last and x.shape[1] > 1:
            x, g1 = x[:, -1:], g1[:, -1:]
            s2, k2, g2 = s2[:, -1:], k2[:, -1:], g2[:, -1:]
        x = torch.addcmul(x, g1, mixed)
        change = block.mlp(torch.addcmul(s2, block.norm2(x), k2))
        return torch.addcmul(x, g2, change)

    def _attend(self, inputs: Tensor, *, grows: bool, last: bool) -> Tensor:
        """Return what attention adds to the tokens ``[B, n, D]``."""
        attention = self._block.attn
        if self._alone is not None:
            return functional.linear(inputs, *self._alone)
        if grows:
            mixed = self._attend_to_past(inputs)
        elif last:
            mixed = _attend_from_last(attention, inputs)
        else:
            mixed = _attend(attention, inputs)
        return attention.to_out(mixed)

    def _attend_to_past(self, inputs: Tensor) -> Tensor:
        """Return what the newest token ``[B, 1, D]`` takes from itself and the past."""
        attention = self._block.attn
        query, key, value = attention.to_qkv(inputs).chunk(3, dim=-1)
        self._keys.append(key)
        self._values.append(value)
        # The softmax of a single score is 1.
        if len(self._keys) == 1:
            return value
        keys, values = torch.cat(self._keys, dim=1), torch.cat(self._values, dim=1)
        return _weigh(attention, query, keys, values)


def _fold_alone(attention: Attention) -> tuple[Tensor, Tensor]:
    """Return weight and bias of attention for a token that has only itself to see.

    It takes its own value whole, so values and output are one linear map.
    """
    output: Any = attention.to_out[0]
    weight = attention.to_qkv.weight
    return output.weight @ weight[2 * len(weight) // 3 :], output.bias


def _attend_from_last(attention: Attention, inputs: Tensor) -> Tensor:
    """Return what the last of the tokens ``[B, n, D]`` takes from all of them."""
    weight = attention.to_qkv.weight
    inner = len(weight) // 3
    query = functional.linear(inputs[:, -1:], weight[:inner])
    keys, values = functional.linear(inputs, weight[inner:]).chunk(2, dim=-1)
    return _weigh(attention, query, keys, values)


def _weigh(attention: Attention, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the values ``[B, n, I]`` weighed for one query ``[B, 1, I]``."""
    query, keys, values = (
        part.unflatten(-1, (attention.heads, -1)) for part in (query, keys, values)
    )
    scores = (query * keys).sum(-1, keepdim=True) * query.shape[-1] ** -0.5
    return (scores.softmax(dim=1) * values).sum(1, keepdim=True).flatten(2)


def _attend(attention: Attention, inputs: Tensor) -> Tensor:
    """Return what each of the tokens ``[B, n, D]`` takes from those up to it."""
    tokens = attention.to_qkv(inputs).unflatten(-1, (3, attention.heads, -1))
    query, key, value = tokens.permute(2, 0, 3, 1, 4).unbind(0)
    mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    return mixed.transpose(1, 2).flatten(2)

"""The predictor unrolled for planning: the same numbers with a fraction of the work.

The plain way feeds the whole context to the predictor for every new latent. But while
the context grows, earlier tokens do not change (attention is causal), so their keys and
values are kept; actions modulate a block the same way wherever they stand in the
context, so that is computed once; and of the last block only the last token is needed.
Letters: B sequences, T blocks of actions, n tokens, D latent size.
"""

from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional

from metro.integrations.models.predictor import Attention, ConditionalBlock
from metro.integrations.models.presets import Sizes

_Modulation = tuple[Tensor, ...]


class Unrollable(Protocol):
    """What is unrolled of a world model, or of a macro model on top of one."""

    @property
    def sizes(self) -> Sizes:
        """Of the predictor; only ``num_frames`` is read."""
        ...

    @property
    def predictor(self) -> Any:
        """The causal transformer, a `Predictor`."""
        ...

    @property
    def action_encoder(self) -> Any:
        """Actions ``[B, T, W]`` -> ``[B, T, D]``."""
        ...

    @property
    def pred_proj(self) -> Any:
        """Tokens ``[B, D]`` -> latents ``[B, D]``."""
        ...


def unroll(network: Unrollable, z: Tensor, blocks: Tensor) -> Tensor:
    """Return ``[B, T, D]``, the latents after each block of actions.

    Args:
        network: In evaluation mode.
        z: ``[B, D]`` present latents.
        blocks: ``[B, T, A * 5]`` normalised actions.
    """
    window = network.sizes.num_frames
    places = network.predictor.pos_embedding[0]
    transformer = network.predictor.transformer
    alone = blocks.shape[1] == 1
    layers = [_Layer(block, alone=alone) for block in transformer.layers]
    conditions = functional.silu(network.action_encoder(blocks))
    latents = [z]
    for step in range(blocks.shape[1]):
        grows = step < window
        first = max(0, step + 1 - window)
        if grows:
            x = (latents[-1] + places[step])[:, None]
        else:
            x = torch.stack(latents[first:], dim=1) + places
        for number, layer in enumerate(layers):
            layer.modulate(conditions[:, step], keep=window)
            x = layer(x, grows=grows, last=number == len(layers) - 1)
        latents.append(network.pred_proj(transformer.norm(x[:, -1])))
    return torch.stack(latents[1:], dim=1)


class _Layer:
    """One block of the predictor with what it remembers of earlier steps."""

    def __init__(self, block: ConditionalBlock, *, alone: bool) -> None:
        self._block, self._alone = block, alone
        self._modulations: list[_Modulation] = []
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []

    def modulate(self, condition: Tensor, *, keep: int) -> None:
        """Remember what the newest action does to this block; forget the oldest."""
        made = self._block.adaLN_modulation[1](condition)
        s1, k1, g1, s2, k2, g2 = made.chunk(6, dim=-1)
        self._modulations.append((s1, 1 + k1, g1, s2, 1 + k2, g2))
        del self._modulations[:-keep]

    def __call__(self, x: Tensor, *, grows: bool, last: bool) -> Tensor:
        """Return the tokens ``[B, n, D]`` after the block; of the ``last`` only one."""
        block, number = self._block, x.shape[1]
        s1, k1, g1, s2, k2, g2 = self._of_last(number)
        inputs = block.attn.norm(block.norm1(x) * k1 + s1)
        if grows:
            mixed = self._attend_to_past(inputs)
        elif last:
            mixed = _attend_from_last(block.attn, inputs)
        else:
            mixed = _attend(block.attn, inputs)
        if last and number > 1:
            x, g1 = x[:, -1:], g1[:, -1:]
            s2, k2, g2 = s2[:, -1:], k2[:, -1:], g2[:, -1:]
        x = torch.addcmul(x, g1, block.attn.to_out(mixed))
        return torch.addcmul(x, g2, block.mlp(block.norm2(x) * k2 + s2))

    def _of_last(self, number: int) -> list[Tensor]:
        chosen = self._modulations[-number:]
        if number == 1:
            return [part[:, None] for part in chosen[0]]
        return [torch.stack(parts, dim=1) for parts in zip(*chosen, strict=True)]

    def _attend_to_past(self, inputs: Tensor) -> Tensor:
        """Return what the newest token ``[B, 1, D]`` takes from itself and the past."""
        attention = self._block.attn
        if self._alone:  # a single step: its token has only itself to look at
            weight = attention.to_qkv.weight
            return functional.linear(inputs, weight[2 * len(weight) // 3 :])
        query, key, value = attention.to_qkv(inputs).chunk(3, dim=-1)
        self._keys.append(key)
        self._values.append(value)
        if len(self._keys) == 1:
            return value
        keys, values = torch.cat(self._keys, dim=1), torch.cat(self._values, dim=1)
        return _weigh(attention, query, keys, values)


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

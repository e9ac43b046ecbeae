"""The macro network of Hi-LeWM: a macro-action encoder and a macro predictor.

Attribute names are those of the released state dicts; they must not be changed.
Letters: B sequences, n macro steps, L action blocks of one macro action, D latent size,
E numbers in a latent macro action.
"""

from types import SimpleNamespace

import torch
from torch import Tensor, nn

from metro.models.macro.sizes import MAX_BLOCKS, MacroSizes
from metro.models.networks import Projector
from metro.models.predictor import Predictor
from metro.models.unrolling import unroll

_INIT_STD = 0.02

_BUCKETS = (2, 4, MAX_BLOCKS)
"""Macro actions up to these lengths are encoded together: most are much shorter than
the longest, and padding costs as much as blocks do."""


class MacroActionEncoder(nn.Module):
    """Up to 15 action blocks -> one latent macro action, read off a class token."""

    def __init__(self, sizes: MacroSizes) -> None:
        super().__init__()
        width = sizes.encoder_width
        self.input_proj = nn.Linear(sizes.action_size, width)
        self.cls_token = nn.Parameter(_INIT_STD * torch.randn(1, 1, width))
        self.pos_embedding = nn.Parameter(
            _INIT_STD * torch.randn(1, MAX_BLOCKS + 1, width)
        )
        layer = nn.TransformerEncoderLayer(
            width,
            sizes.encoder_heads,
            sizes.encoder_mlp,
            sizes.dropout,
            activation="gelu",
            batch_first=True,
        )
        # Nested tensors warn as a prototype; `_BUCKETS` already spare most padding.
        self.encoder = nn.TransformerEncoder(
            layer, sizes.encoder_depth, enable_nested_tensor=False
        )
        self.output_proj = nn.Linear(width, sizes.macro_size)

    def forward(self, blocks: Tensor, is_padding: Tensor) -> Tensor:
        """Return ``[B, E]`` for action blocks ``[B, L, A * 5]``.

        Args:
            blocks: Normalised actions, each macro action padded on the right.
            is_padding: ``[B, L]`` where no block is.
        """
        tokens = torch.cat(
            [self.cls_token.expand(len(blocks), 1, -1), self.input_proj(blocks)], dim=1
        )
        tokens = tokens + self.pos_embedding[:, : tokens.shape[1]]
        # The class token is never padding.
        hidden = nn.functional.pad(is_padding, (1, 0), value=False)
        return self.output_proj(self.encoder(tokens, src_key_padding_mask=hidden)[:, 0])


class MacroNetwork(nn.Module):
    """What Hi-LeWM trains on top of a frozen world model."""

    def __init__(self, sizes: MacroSizes) -> None:
        super().__init__()
        self.sizes = sizes
        latent, hidden = sizes.latent_size, sizes.projector_size
        self.latent_action_encoder = MacroActionEncoder(sizes)
        self.macro_to_condition = nn.Linear(sizes.macro_size, latent)
        self.high_predictor = Predictor(sizes.predictor)
        self.high_pred_proj = Projector(latent, hidden, latent)

    def encode(self, blocks: Tensor, is_padding: Tensor) -> Tensor:
        """Return ``[..., E]`` of macro actions ``[..., L, A * 5]``, padded."""
        lead = blocks.shape[:-2]
        blocks, is_padding = blocks.flatten(0, -3), is_padding.flatten(0, -2)
        lengths = (~is_padding).sum(dim=1)
        rows, encoded, shorter = [], [], 0
        for longest in _BUCKETS:
            chosen = ((lengths > shorter) & (lengths <= longest)).nonzero()[:, 0]
            if len(chosen):
                rows.append(chosen)
                cut = blocks[chosen, :longest], is_padding[chosen, :longest]
                encoded.append(self.latent_action_encoder(*cut))
            shorter = longest
        # argsort inverts the permutation: rows come back in the order given.
        return torch.cat(encoded)[torch.cat(rows).argsort()].unflatten(0, lead)

    def predict(self, z: Tensor, macro_actions: Tensor) -> Tensor:
        """Return ``[B, n, D]``: token i is the latent after macro action i.

        Args:
            z: ``[B, n, D]`` latents at which the macro actions start, n <= 4.
            macro_actions: ``[B, n, E]``.
        """
        tokens = self.high_predictor(z, self.macro_to_condition(macro_actions))
        return self.high_pred_proj(tokens.flatten(0, 1)).unflatten(0, tokens.shape[:2])

    def unroll(self, z: Tensor, macro_actions: Tensor) -> Tensor:
        """Return ``[B, n, D]`` latents after each macro action, from ``[B, D]`` on."""
        # Under the names of a world model. Not a module: that would list weights twice.
        level = SimpleNamespace(
            predictor=self.high_predictor,
            action_encoder=self.macro_to_condition,
            pred_proj=self.high_pred_proj,
        )
        return unroll(level, z, macro_actions)

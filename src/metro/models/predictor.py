"""The predictor of LeWM and PLDM: a causal transformer that actions modulate.

Attribute names are those of the released state dicts; they must not be changed.
Letters: B sequences, T frames of a sequence, D latent size.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from metro.models.presets import Sizes


class FeedForward(nn.Module):
    """The feed-forward part of a block, with its own layer norm."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, width),
            nn.Dropout(dropout),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the change of every token."""
        return self.net(x)


class Attention(nn.Module):
    """Causal attention: a token sees itself and those before it."""

    def __init__(self, width: int, heads: int, head_size: int, dropout: float) -> None:
        super().__init__()
        inner = heads * head_size
        self.heads = heads
        self.dropout = dropout
        self.norm = nn.LayerNorm(width)
        # Rows in the order q, k, v, as released; `unrolling` slices them.
        self.to_qkv = nn.Linear(width, 3 * inner, bias=False)
        self.to_out = nn.Sequential(nn.Linear(inner, width), nn.Dropout(dropout))

    def forward(self, x: Tensor) -> Tensor:
        """Return the change of every token."""
        tokens = self.to_qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = tokens.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(
            query,
            key,
            value,
            # A function has no evaluation mode of its own.
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=True,
        )
        return self.to_out(mixed.transpose(1, 2).flatten(2))


class ConditionalBlock(nn.Module):
    """A transformer block that the action modulates (AdaLN-zero).

    With c the action's embedding and (s1, k1, g1, s2, k2, g2) = W SiLU(c) + b:
    x += g1 Attention(LN(x) (1 + k1) + s1), then the same with the feed-forward part.
    W and b start at zero, so that every block starts as the identity.
    """

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.latent_size
        self.attn = Attention(width, sizes.heads, sizes.head_size, sizes.dropout)
        self.mlp = FeedForward(width, sizes.mlp_size, sizes.dropout)
        self.norm1 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        self.norm2 = nn.LayerNorm(width, elementwise_affine=False, eps=1e-6)
        last = nn.Linear(width, 6 * width)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.adaLN_modulation = nn.Sequential(nn.SiLU(), last)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """Return the tokens after the block."""
        s1, k1, g1, s2, k2, g2 = self.adaLN_modulation(condition).chunk(6, dim=-1)
        x = x + g1 * self.attn(self.norm1(x) * (1 + k1) + s1)
        return x + g2 * self.mlp(self.norm2(x) * (1 + k2) + s2)


class Transformer(nn.Module):
    """Conditional blocks and a layer norm."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(sizes.latent_size)
        self.layers = nn.ModuleList(ConditionalBlock(sizes) for _ in range(sizes.depth))

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        """Return the tokens after all blocks."""
        for block in self.layers:
            x = block(x, condition)
        return self.norm(x)


class Predictor(nn.Module):
    """Latents and the actions that leave them -> the latents that follow."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.pos_embedding = nn.Parameter(
            torch.randn(1, sizes.num_frames, sizes.latent_size)
        )
        self.transformer = Transformer(sizes)

    def forward(self, z: Tensor, actions: Tensor) -> Tensor:
        """Return ``[B, T, D]`` for latents and action embeddings ``[B, T, D]``."""
        x = z + self.pos_embedding[:, : z.shape[1]]
        return self.transformer(x, actions)

"""The neighbour table on a GPU, or wherever torch runs: the same contract, same bits.

Matrix products propose on the device; what they propose is measured in float64 as
everywhere else, so the table equals that of `metro.find_neighbours` bit for bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import Latents
from metro.core.neighbours import (
    NO_EPISODE,
    BruteForceIndex,
    NeighbourTable,
    require_num_neighbours,
)
from metro.errors import MissingExtra
from metro.types import Progress


class TorchIndex(BruteForceIndex):
    """`BruteForceIndex` whose products are computed by torch.

    Args:
        latents: The corpus.
        device: Where to compute, as torch names it; None: a GPU if there is one.
    """

    def __init__(self, latents: Latents, *, device: str | None = None) -> None:
        self._torch = _import_torch()
        super().__init__(latents)
        if device is None:
            device = "cuda" if self._torch.cuda.is_available() else "cpu"
        self._device = device
        self._columns = self._to_device(self._rows.T)
        self._squares = self._to_device(self._norms.astype(np.float32))

    def _candidates(
        self, queries: NDArray[Any], num_neighbours: int, excluded: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (query, frame) pairs that hold every true neighbour."""
        torch = self._torch
        rows, norms = self._moved(queries)
        with np.errstate(over="ignore"):  # too far for float32: see FAR
            squares = self._to_device(norms.astype(np.float32))
        # TF32 would round to ten bits, which the proven bound does not allow.
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = False
        approximate = self._to_device(rows) @ self._columns
        torch.backends.cuda.matmul.allow_tf32 = before
        approximate = approximate.mul_(-2).add_(self._squares).add_(squares[:, None])
        # Not >=, which NaN would pass as near.
        far = ~(norms < self.FAR)
        # All alike at 0: every frame is proposed, and measured exactly.
        norms[far] = 0
        approximate[self._to_device(far)] = 0
        for number, episode in enumerate(excluded):
            if episode != NO_EPISODE:
                approximate[number, self._latents.rows_of(episode)] = torch.inf
        last = min(num_neighbours, approximate.shape[1])
        least = approximate.topk(last, dim=1, largest=False).values[:, -1].double()
        # Twice: the k-th gap and that of a nearer frame may both be off.
        limit = least + self._to_device(2 * self._rounding(norms))
        # With too few frames the limit is infinite; excluded ones must stay out.
        near = (approximate <= limit[:, None]) & (approximate < torch.inf)
        query, other = near.nonzero(as_tuple=True)
        return query.cpu().numpy(), other.cpu().numpy()

    def _to_device(self, array: NDArray[Any]) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


def find_neighbours_torch(
    latents: Latents,
    num_neighbours: int = 4,
    *,
    device: str | None = None,
    progress: Progress | None = None,
) -> NeighbourTable:
    """Return what `metro.find_neighbours` returns, computed by torch.

    Paper: Eq. 4. Decision: D1.

    Args:
        latents: The corpus; its rows must fit on the device twice.
        num_neighbours: k of the paper.
        device: As torch names it; None: a GPU if there is one.
        progress: Called with (done, total) frames.
    """
    require_num_neighbours(num_neighbours)
    index = TorchIndex(latents, device=device)
    episodes = latents.episode_of(np.arange(latents.num_frames))
    frame, gap = index.nearest(latents.z, num_neighbours, episodes, progress=progress)
    frame.setflags(write=False)
    gap.setflags(write=False)
    return NeighbourTable(frame, gap, latents.digest)


def _import_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(
            'torch_neighbours needs the "torch" extra: pip install "metro-wm[torch]"'
        ) from error
    return torch

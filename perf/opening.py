"""Measure what checking digests costs when a graph of 2.26 million frames is opened.

The graph is of zeros, D = 192, with arrays as large as those of a real one. Processor
time, the fastest of three, with the files in memory.

    python -m perf.opening FOLDER [FRAMES]    (2.3 GB in FOLDER, such as /dev/shm)
"""

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import metro
from metro.core.cell_index import CellIndex
from metro.core.graph import FrameGraph
from metro.core.neighbours import NeighbourTable
from metro.storage import arrays
from metro.storage.layout import CELL, LAYOUT

FRAMES = 2_260_000
DIM, LENGTH, NEIGHBOURS, BUDGET, BRIDGES, PER_CELL, ROOM = 192, 100, 4, 8, 6, 128, 208


def make_graph(num_frames: int) -> FrameGraph:
    """Return a graph of zeros, with an index."""
    offsets = np.append(np.arange(0, num_frames, LENGTH), num_frames)
    latents = metro.Latents(np.zeros((num_frames, DIM), np.float32), offsets)
    starts = np.append(np.arange(0, num_frames, PER_CELL), num_frames)
    sizes: dict[Any, int] = {"N": num_frames, "C": len(starts) - 1, "W": DIM, "R": ROOM}
    cells = {
        name.removeprefix(CELL): np.zeros([sizes.get(s, s) for s in shape], kind)
        for name, (kind, shape) in LAYOUT.items()
        if name.startswith(CELL) and name not in ("cell_frame", "cell_offsets")
    }
    cells |= {"frame": np.arange(num_frames, dtype=np.int32), "offsets": starts}
    frame = np.zeros((num_frames, NEIGHBOURS), np.int32)
    index = CellIndex(latents, cells)
    table = NeighbourTable(frame, np.ones(frame.shape), latents.digest, index)
    low = np.arange(num_frames, dtype=np.int32) // 8
    ends = low[:, None] + np.arange(BRIDGES, dtype=np.int32) * (num_frames // 7)
    bridges = np.arange(num_frames + 1) * BRIDGES, ends.reshape(-1)
    pricing = metro.PricingCurve(np.arange(1.0, BUDGET + 1))
    return FrameGraph(latents, table, pricing, *bridges, np.full(ends.size, 1.5))


def without_digests() -> AbstractContextManager[Any]:
    """Let files be opened without reading them for their digests."""
    load_array: Callable[..., Any] = arrays._load_array

    def bare(*given: Any, verify: bool) -> Any:
        return load_array(*given, verify=False)

    return patch.object(arrays, "_load_array", bare)


def seconds_to_open(path: Path, *, verify: bool = False) -> float:
    """Return the processor time of the fastest of three loads."""
    taken = []
    for _ in range(3):
        began = time.process_time()
        metro.load(path, verify=verify)
        taken.append(time.process_time() - began)
    return min(taken)


def main(folder: str, num_frames: int = FRAMES) -> None:
    """Save a graph, open it with fewer and with more digests, and print the times."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path = Path(made) / "large.metro"
        metro.save(make_graph(num_frames), path)
        for name, context, verify in (
            ("no digest", without_digests(), False),
            ("default", nullcontext(), False),
            ("verify=True", nullcontext(), True),
        ):
            with context:
                seconds = seconds_to_open(path, verify=verify)
            print(f"{num_frames:,} frames, {name}: {seconds:.2f} s")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

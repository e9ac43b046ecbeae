"""Laws of `metro.data.formats.archive`."""

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from metro.data.formats import archive
from metro.data.formats.archive import load_archive
from metro.errors import CorpusError


@pytest.fixture
def pixels():
    """Three hundred frames, hard to compress."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (300, 32, 32, 3)).astype(np.uint8)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_rows_in_any_order_are_those_of_the_array(tmp_path, monkeypatch, pixels, save):
    """Forward, back, by several threads, over the points that are kept on the way."""
    monkeypatch.setattr(archive, "_EVERY", 100_000)
    monkeypatch.setattr(archive, "_BLOCK", 20_000)
    save(tmp_path / "x.npz", action=np.arange(300), pixels=pixels)
    lazy = load_archive(tmp_path / "x.npz")["pixels"]
    rng = np.random.default_rng(1)
    ranges = [sorted(rng.integers(0, 301, 2)) for _ in range(60)]
    for first, last in ranges:
        np.testing.assert_array_equal(lazy[first:last], pixels[first:last])
    with ThreadPoolExecutor(4) as pool:
        read = pool.map(lambda edges: lazy[edges[0] : edges[1]], ranges)
        for (first, last), rows in zip(ranges, read, strict=True):
            np.testing.assert_array_equal(rows, pixels[first:last])


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_pixels_are_never_read_as_a_whole(tmp_path, pixels, save):
    """Opening and reading an episode takes the memory of an episode."""
    save(tmp_path / "x.npz", pixels=np.tile(pixels, (20, 1, 1, 1)))
    tracemalloc.start()
    lazy = load_archive(tmp_path / "x.npz")["pixels"]
    for first in range(0, len(lazy), 500):
        assert len(lazy[first : first + 10]) == 10
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < pixels.nbytes * 20 / 4


def test_a_header_that_promises_more_is_refused(tmp_path, pixels):
    """Nothing is reserved for it."""
    np.savez(tmp_path / "x.npz", pixels=pixels)
    content = (tmp_path / "x.npz").read_bytes()
    (tmp_path / "x.npz").write_bytes(content.replace(b"(300, 32", b"(900, 32"))
    with pytest.raises(CorpusError, match="x.npz cannot be read"):
        load_archive(tmp_path / "x.npz")

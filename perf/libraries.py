"""How each approximate library is built and asked, in one place.

A build takes (module, rows, threads) and returns a `Search`, whose answers are ``[Q,
how many]`` frame numbers, -1 where none.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float32]


class Search(NamedTuple):
    """An index, and how it is asked: queries, how many, effort."""

    index: Any
    ask: Callable[[Rows, int, int], NDArray[Any]]


Build = Callable[[Any, Rows, int], Search]

_EF_CONSTRUCTION = 100


def faiss_flat(faiss: Any, rows: Rows, threads: int) -> Search:
    """Every row, by faiss's own products."""
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatL2(rows.shape[1])
    index.add(rows)

    def ask(queries: Rows, count: int, effort: int) -> NDArray[Any]:
        return np.asarray(index.search(queries, count)[1])

    return Search(index, ask)


def faiss_ivf(faiss: Any, rows: Rows, threads: int) -> Search:
    """About 4 √N lists; the effort is the number of lists that are read."""
    faiss.omp_set_num_threads(threads)
    lists = max(1, int(4 * np.sqrt(len(rows))))
    coarse = faiss.IndexFlatL2(rows.shape[1])
    index = faiss.IndexIVFFlat(coarse, rows.shape[1], lists)
    index.cp.min_points_per_centroid = 1  # faiss prints a warning otherwise
    index.train(rows)
    index.add(rows)

    def ask(queries: Rows, count: int, effort: int) -> NDArray[Any]:
        index.nprobe = effort
        return np.asarray(index.search(queries, count)[1])

    return Search(index, ask)


def faiss_hnsw(links: int) -> Build:
    """Return the build of faiss's graph; the effort is efSearch a frame fetched."""

    def build(faiss: Any, rows: Rows, threads: int) -> Search:
        faiss.omp_set_num_threads(threads)
        index = faiss.IndexHNSWFlat(rows.shape[1], links)
        index.hnsw.efConstruction = _EF_CONSTRUCTION
        index.add(rows)

        def ask(queries: Rows, count: int, effort: int) -> NDArray[Any]:
            index.hnsw.efSearch = effort * count
            return np.asarray(index.search(queries, count)[1])

        return Search(index, ask)

    return build


def hnswlib_index(links: int) -> Build:
    """Return the build of hnswlib's graph; the effort is ef a frame fetched."""

    def build(hnswlib: Any, rows: Rows, threads: int) -> Search:
        index = hnswlib.Index(space="l2", dim=rows.shape[1])
        index.init_index(len(rows), M=links, ef_construction=_EF_CONSTRUCTION)
        index.set_num_threads(threads)
        index.add_items(rows, num_threads=threads)

        def ask(queries: Rows, count: int, effort: int) -> NDArray[Any]:
            index.set_ef(effort * count)
            found, _ = index.knn_query(queries, k=count, num_threads=threads)
            return np.asarray(found)

        return Search(index, ask)

    return build


def usearch_index(links: int) -> Build:
    """Return the build of usearch's graph; the effort is expansion a frame fetched."""

    def build(usearch: Any, rows: Rows, threads: int) -> Search:
        index = usearch.Index(
            ndim=rows.shape[1],
            metric="l2sq",
            dtype="f32",
            connectivity=links,
            expansion_add=_EF_CONSTRUCTION,
        )
        index.add(np.arange(len(rows)), rows, threads=threads)

        def ask(queries: Rows, count: int, effort: int) -> NDArray[Any]:
            index.expansion_search = effort * count
            found = index.search(queries, count, threads=threads)
            return np.asarray(found.keys).reshape(len(queries), -1)

        return Search(index, ask)

    return build


def pynndescent_graph(pynndescent: Any, rows: Rows, threads: int) -> Search:
    """The graph of all rows with themselves; queries and effort are not used."""

    def ask(queries: Rows, count: int, effort: int) -> NDArray[Any]:
        made = pynndescent.NNDescent(
            rows, n_neighbors=count, n_jobs=threads, random_state=0
        )
        return np.asarray(made.neighbor_graph[0])

    return Search(None, ask)

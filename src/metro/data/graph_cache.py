"""The frame graph of a corpus under a model, made once and kept on disk."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Literal, cast

from metro.core.graph import FrameGraph, build_graph
from metro.core.latents import Latents
from metro.core.neighbours import NeighbourTable, find_neighbours
from metro.core.pricing import PricingCurve
from metro.data.corpus import Corpus
from metro.data.encode import encode_corpus, encode_in_memory
from metro.data.provenance import Encoder, model_digest
from metro.data.reach_graph import CANDIDATES, build_reach_graph
from metro.errors import PricingError
from metro.models.reach_measure import attach_reach
from metro.storage.artefacts import load, save
from metro.storage.lock import only_writer
from metro.storage.made_from import Provenance
from metro.storage.parts import Parts
from metro.types import ProgressBar, WorldModel


def build_corpus_graph(  # noqa: PLR0913
    corpus: Corpus,
    model: Encoder,
    *,
    waypoint_budget: int = 8,
    num_neighbours: int = 4,
    quantile: float = 0.25,
    pricing: Literal["gap", "reach"] = "gap",
    cache: str | Path | None = None,
    device: str | None = None,
    progress: ProgressBar | None = None,
) -> FrameGraph:
    """Return the graph of a corpus: encode it, find neighbours, price bridges.

    Args:
        corpus: The recorded episodes.
        model: Any object with ``encode(frames) -> z``; reach needs ``rollout`` too.
        waypoint_budget: H, frames that the micro planner reaches reliably.
        num_neighbours: k, bridges that every frame keeps.
        quantile: α of the pricing curve.
        pricing: ``"gap"``, as the paper; or ``"reach"``: jumps that the world model
            cannot make cost more. Decision: D37.
        cache: Where the graph is kept (``*.metro``, its latents beside it in
            ``*.latents``). What is there is reused if it belongs to the same model
            and corpus, and replaced otherwise; files that are not metro's are never
            replaced. An interrupted call resumes. None keeps nothing.
        device: Where to encode, as torch names it; None takes a GPU if there is one.
        progress: Shows a progress bar for each stage.
    """
    if pricing not in ("gap", "reach"):
        raise PricingError(f'pricing must be "gap" or "reach", got {pricing!r}.')
    kept = None if cache is None else Path(cache)
    owner = {"model": model_digest(model, corpus), "corpus": corpus.digest}
    found = _load_if_owned(kept, owner)
    if found is None:
        latents = _encode(corpus, model, kept, owner, device, progress)
    elif _is_as_asked(found, pricing, waypoint_budget, num_neighbours, quantile):
        return attach_reach(found, cast(WorldModel, model))
    else:
        latents = found.latents
    width = num_neighbours if pricing == "gap" else max(num_neighbours, CANDIDATES)
    # The table depends on neither H nor α: a kept graph that differs in these only
    # costs a new pricing curve.
    if found is None or found.table.num_neighbours < width:
        table = _find_table(latents, width, kept, progress)
    else:
        table = found.table.nearest(width)
    curve = PricingCurve.fit(latents, waypoint_budget, quantile)
    if pricing == "gap":
        graph = build_graph(latents, table, curve)
    else:
        graph = build_reach_graph(
            *(latents, table, curve, corpus, cast(WorldModel, model)),
            num_links=num_neighbours,
            parts=None if kept is None else kept.with_name(f".{kept.name}.reach"),
            progress=progress,
        )
    if kept is not None:
        save(graph, kept, force=True)
    return graph


def _is_as_asked(
    graph: FrameGraph, pricing: str, budget: int, num_neighbours: int, quantile: float
) -> bool:
    """Return whether a kept graph is the one that would be built."""
    asked = (pricing == "reach", budget, num_neighbours, quantile)
    kept = (graph.is_directed, graph.waypoint_budget, graph.num_neighbours)
    return (*kept, graph.pricing.quantile) == asked


def _load_if_owned(path: Path | None, owner: dict[str, str]) -> Any:
    """Return the artefact at ``path`` if it was made from this model and corpus."""
    if path is None or not path.exists():
        return None
    found = load(path)
    made = Provenance.of(found.latents if isinstance(found, FrameGraph) else found)
    return found if made.is_of(**owner) else None


def _encode(
    corpus: Corpus,
    model: Encoder,
    kept: Path | None,
    owner: dict[str, str],
    device: str | None,
    progress: ProgressBar | None,
) -> Latents:
    if kept is None:
        with _bar(progress, "Encoding") as report:
            return encode_in_memory(corpus, model, device=device, progress=report)
    # Looked for separately: an interruption may have left latents without a graph.
    place = kept.with_suffix(".latents")
    found = _load_if_owned(place, owner)
    if found is not None:
        return cast(Latents, found)
    with _bar(progress, "Encoding") as report:
        return encode_corpus(
            corpus, model, place, device=device, progress=report, force=True
        ).latents


def _find_table(
    latents: Latents, num_neighbours: int, kept: Path | None, bar: ProgressBar | None
) -> NeighbourTable:
    parts = None if kept is None else Parts(kept.with_name(f".{kept.name}.partial"))
    alone = nullcontext() if kept is None else only_writer(kept)
    with alone, _bar(bar, "Neighbour table") as report:
        return find_neighbours(
            latents, num_neighbours, progress=report, checkpoint=parts
        )


def _bar(
    bar: ProgressBar | None, title: str
) -> AbstractContextManager[Callable[..., None] | None]:
    return nullcontext() if bar is None else bar(title)

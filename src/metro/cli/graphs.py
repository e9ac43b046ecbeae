"""Verbs on latents and graphs: build, route."""

from pathlib import Path
from typing import Annotated, Any

import typer

from metro.cli import options
from metro.cli.options import option
from metro.cli.root import GRAPHS, app, print_json


@app.command(rich_help_panel=GRAPHS)
def build(
    latents: Annotated[
        Path,
        typer.Argument(
            metavar="LATENTS", help="Encoded frames: .latents, .npz, .npy or .h5."
        ),
    ],
    output: Annotated[Path, option("Graph to write.", "--output", "-o")],
    waypoint_budget: Annotated[
        int, option("H, frames that the micro planner reaches reliably.")
    ] = 8,
    num_neighbours: Annotated[int, option("k, look-alike frames kept per frame.")] = 4,
    quantile: Annotated[float, option("α, quantile of the pricing curve.")] = 0.25,
    episode_lengths: Annotated[
        str | None, option("Frames per episode: one number, or a .npy or text file.")
    ] = None,
    pricing: Annotated[
        str,
        option(
            "gap, as the paper; or reach: jumps that the world model cannot make cost "
            "more. Needs --model and --corpus."
        ),
    ] = "gap",
    model: Annotated[
        str | None, options.model_option("World model of the latents, for reach.")
    ] = None,
    corpus: Annotated[
        str | None,
        options.corpus_option("Recorded episodes of the latents, for reach."),
    ] = None,
    workers: Annotated[
        int | None, option("Number of threads. Default: one per core.")
    ] = None,
    force: options.Force = False,
) -> None:
    """Build a graph from latents: neighbour table, pricing curve, bridges.

    If it is interrupted, the same command resumes after the finished rows.
    """
    from metro import PricingCurve, build_graph, save
    from metro.cli.terminal import progress_bar, spinner
    from metro.storage.atomic import require_writable
    from metro.storage.readers import read_latents

    # Before minutes of work, not after them.
    require_writable(output, force=force)
    by_reach = _is_by_reach(pricing, model, corpus)
    encoded = read_latents(latents, episode_lengths)
    # The curve first: it takes seconds, and a wrong H fails here.
    with progress_bar("Pricing curve") as progress:
        curve = PricingCurve.fit(encoded, waypoint_budget, quantile, progress=progress)
    table = _find_table(encoded, num_neighbours, output, workers, by_reach=by_reach)
    if by_reach:
        graph = _price_by_reach(encoded, table, curve, num_neighbours, output, by_reach)
    else:
        graph = build_graph(encoded, table, curve)
    with spinner(f"Writing {output}"):
        save(graph, output, force=force)
    _print_built(graph, output)


def _print_built(graph: Any, output: Path) -> None:
    typer.echo(
        f"{output}: {graph.num_frames} frames of "
        f"{graph.latents.num_episodes} episodes, "
        f"{graph.num_bridges} bridges, H = {graph.waypoint_budget}."
    )


def _is_by_reach(
    pricing: str, model: str | None, corpus: str | None
) -> tuple[str, str] | None:
    """Return the model and the corpus of a graph priced by reach; None: by gap."""
    if pricing not in ("gap", "reach"):
        raise typer.BadParameter(f"--pricing must be gap or reach, got {pricing}.")
    if pricing == "gap":
        return None
    if model is None or corpus is None:
        raise typer.BadParameter("--pricing reach needs --model and --corpus.")
    return model, corpus


def _find_table(
    encoded: Any,
    num_neighbours: int,
    output: Path,
    workers: int | None,
    *,
    by_reach: Any,
) -> Any:
    """Return the neighbour table; reach has more candidates to choose from."""
    from metro import find_neighbours
    from metro.cli.terminal import progress_bar
    from metro.storage.lock import only_writer
    from metro.storage.parts import Parts

    if by_reach:
        from metro.data.reach_graph import CANDIDATES

        num_neighbours = max(num_neighbours, CANDIDATES)
    # Named after the output, so that the same command finds it again.
    parts = Parts(output.with_name(f".{output.name}.partial"))
    with only_writer(output), progress_bar("Neighbour table") as progress:
        return find_neighbours(
            encoded,
            num_neighbours,
            progress=progress,
            workers=workers,
            checkpoint=parts,
        )


def _price_by_reach(
    encoded: Any,
    table: Any,
    curve: Any,
    num_neighbours: int,
    output: Path,
    sources: tuple[str, str],
) -> Any:
    """Return the graph whose jumps are charged by the model's reach."""
    from metro.cli.terminal import progress_bar
    from metro.data.corpus import open_corpus
    from metro.data.reach_graph import build_reach_graph
    from metro.models.loading import load_model
    from metro.storage.lock import only_writer

    model, corpus = sources
    with only_writer(output), open_corpus(corpus) as recording:
        return build_reach_graph(
            encoded,
            table,
            curve,
            recording,
            load_model(model),
            num_links=num_neighbours,
            parts=output.with_name(f".{output.name}.reach.partial"),
            progress=progress_bar,
        )


@app.command(rich_help_panel=GRAPHS)
def route(
    graph: options.GraphPath,
    start: Annotated[int, option("Frame to start from.", "--from")],
    goal: Annotated[int, option("Frame whose latent is the goal.", "--to")],
    held_out: Annotated[
        int | None, option("Episode to leave out of the search.")
    ] = None,
    storyboard: Annotated[
        Path | None, option("Picture (.png) or video (.gif) of the route to write.")
    ] = None,
    pricing: Annotated[
        str,
        option(
            "gap or reach: how jumps are priced. Any graph can be priced by reach: "
            "what routes use is measured on the way. Needs --model and --corpus."
        ),
    ] = "gap",
    model: Annotated[
        str | None, options.model_option("World model of the graph, for reach.")
    ] = None,
    corpus: Annotated[
        str | None,
        options.corpus_option("Recorded episodes, for reach or the storyboard."),
    ] = None,
    every: Annotated[
        int, option("Frames between two pictures of a long segment.", least=1)
    ] = 12,
    force: Annotated[bool, option("Replace the storyboard.", "--force")] = False,
    as_json: options.AsJson = False,
    verify: options.Verify = False,
) -> None:
    """Print the cheapest route between two frames, segment by segment.

    With --storyboard and --corpus it is also drawn in recorded pictures: one colour per
    episode, bridges marked with their price.
    """
    from metro.cli.terminal import print_journey
    from metro.core.itinerary import path_segments
    from metro.storage.artefacts import load_graph

    sources = _is_by_reach(pricing, model, corpus)
    _check_storyboard(storyboard, corpus, by_reach=bool(sources), force=force)
    network = load_graph(graph, verify=verify)
    latents = network.latents
    start = latents.require_frame("--from", start)
    goal = latents.require_frame("--to", goal)
    segments = path_segments(_routes_to(network, goal, held_out, sources), start)
    if storyboard is not None and corpus is not None:
        from metro.report.drawing.storyboard import write_storyboard

        ends = (start, goal)
        write_storyboard(latents, segments, ends, corpus, storyboard, every=every)
    if as_json:
        print_json(_route_as_json(start, goal, held_out, segments))
    else:
        print_journey(latents, start, goal, segments, held_out=held_out)


def _routes_to(
    graph: Any,
    goal: int,
    held_out: int | None,
    sources: tuple[str, str] | None,
) -> Any:
    """Return the routes to a frame, priced by reach if there is a model for it."""
    from metro import LazyReach, find_routes
    from metro.data.corpus import open_corpus
    from metro.models.loading import load_model
    from metro.models.reach_measure import attach_reach

    latent = graph.latents.z[goal]
    if sources is None:
        return find_routes(graph, latent, held_out=held_out)
    model = load_model(sources[0])
    if graph.reach is not None:
        return find_routes(attach_reach(graph, model), latent, held_out=held_out)
    with open_corpus(sources[1]) as recording:
        lazy = LazyReach.from_corpus(graph, recording, model)
    return lazy.find_routes(latent, held_out=held_out)


def _check_storyboard(
    storyboard: Path | None, corpus: str | None, *, by_reach: bool, force: bool
) -> None:
    """Refuse a storyboard that could not be drawn, before the search."""
    is_alone = (storyboard is None) != (corpus is None)
    if is_alone and not (by_reach and storyboard is None):
        raise typer.BadParameter("--storyboard and --corpus go together.")
    if storyboard is not None:
        from metro.report.drawing.storyboard import require_place

        require_place(storyboard, force=force)


def _route_as_json(
    start: int, goal: int, held_out: int | None, segments: list[Any]
) -> dict[str, Any]:
    # The keys are those of earlier versions: scripts read them.
    return {
        "from": start,
        "to": goal,
        "held_out": held_out,
        "cost": segments[-1].total if segments else None,
        "legs": [segment.to_json() for segment in segments],
    }

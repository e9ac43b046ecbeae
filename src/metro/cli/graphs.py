"""Verbs on latents and graphs: build, inspect, route."""

from pathlib import Path
from typing import Annotated, Any

import typer

from metro.cli.options import AsJson, Force, GraphPath, Verify
from metro.cli.root import GRAPHS, app, print_json


@app.command(rich_help_panel=GRAPHS)
def build(
    latents: Annotated[
        Path,
        typer.Argument(
            metavar="LATENTS", help="Encoded frames: .latents, .npz, .npy or .h5."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Graph to write.")],
    waypoint_budget: Annotated[
        int, typer.Option(help="H, frames that the micro planner reaches reliably.")
    ] = 8,
    num_neighbours: Annotated[
        int, typer.Option(help="k, look-alike frames kept per frame.")
    ] = 4,
    quantile: Annotated[
        float, typer.Option(help="α, quantile of the pricing curve.")
    ] = 0.25,
    episode_lengths: Annotated[
        str | None,
        typer.Option(help="Frames per episode: one number, or a .npy or text file."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Number of threads. Default: one per core.")
    ] = None,
    force: Force = False,
) -> None:
    """Build a graph from latents: neighbour table, pricing curve, bridges.

    If it is interrupted, the same command resumes after the finished rows.
    """
    from metro import PricingCurve, build_graph, find_neighbours, save
    from metro.cli.terminal import progress_bar, spinner
    from metro.storage.atomic import require_writable
    from metro.storage.parts import Parts
    from metro.storage.readers import read_latents

    # Before minutes of work, not after them.
    require_writable(output, force=force)
    corpus = read_latents(latents, episode_lengths)
    # The curve first: it takes seconds, and a wrong H fails here.
    with progress_bar("Pricing curve") as progress:
        pricing = PricingCurve.fit(corpus, waypoint_budget, quantile, progress=progress)
    # Named after the output, so that the same command finds it again.
    parts = Parts(output.with_name(f".{output.name}.partial"))
    options: dict[str, Any] = {"workers": workers, "checkpoint": parts}
    with progress_bar("Neighbour table") as progress:
        table = find_neighbours(corpus, num_neighbours, progress=progress, **options)
    graph = build_graph(corpus, table, pricing)
    with spinner(f"Writing {output}"):
        save(graph, output, force=force)
    typer.echo(
        f"{output}: {graph.num_frames} frames of {corpus.num_episodes} episodes, "
        f"{graph.num_bridges} bridges, H = {waypoint_budget}."
    )


@app.command(rich_help_panel=GRAPHS)
def inspect(graph: GraphPath, as_json: AsJson = False, verify: Verify = False) -> None:
    """Show what a graph is made of, and how much of it routes can reach."""
    from metro.cli.terminal import print_inspection, spinner
    from metro.core.inspect import inspect_graph
    from metro.storage.artefacts import load_graph

    with spinner(f"Inspecting {graph}"):
        figures = inspect_graph(load_graph(graph, verify=verify))
    if as_json:
        print_json(figures.to_json())
    else:
        print_inspection(figures, str(graph))


@app.command(rich_help_panel=GRAPHS)
def route(
    graph: GraphPath,
    start: Annotated[int, typer.Option("--from", help="Frame to start from.")],
    goal: Annotated[int, typer.Option("--to", help="Frame whose latent is the goal.")],
    held_out: Annotated[
        int | None, typer.Option(help="Episode to leave out of the search.")
    ] = None,
    storyboard: Annotated[
        Path | None,
        typer.Option(help="Picture (.png) or video (.gif) of the route to write."),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(help="Recorded episodes, for the storyboard's pictures."),
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Frames between two pictures of a long segment.")
    ] = 12,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the storyboard.")
    ] = False,
    as_json: AsJson = False,
    verify: Verify = False,
) -> None:
    """Print the cheapest route between two frames, segment by segment.

    With --storyboard and --corpus it is also drawn in recorded pictures: one colour per
    episode, bridges marked with their price.
    """
    from metro import find_routes
    from metro.cli.terminal import print_journey
    from metro.core.itinerary import path_segments
    from metro.storage.artefacts import load_graph

    _check_storyboard(storyboard, corpus, force=force)
    network = load_graph(graph, verify=verify)
    latents = network.latents
    start = latents.require_frame("--from", start)
    goal = latents.require_frame("--to", goal)
    segments = path_segments(
        find_routes(network, latents.z[goal], held_out=held_out), start
    )
    if storyboard is not None and corpus is not None:
        from metro.report.drawing.storyboard import write_storyboard

        ends = (start, goal)
        write_storyboard(latents, segments, ends, corpus, storyboard, every=every)
    if as_json:
        print_json(_route_as_json(start, goal, held_out, segments))
    else:
        print_journey(latents, start, goal, segments, held_out=held_out)


def _check_storyboard(
    storyboard: Path | None, corpus: Path | None, *, force: bool
) -> None:
    """Refuse a storyboard that could not be drawn, before the search."""
    if (storyboard is None) != (corpus is None):
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

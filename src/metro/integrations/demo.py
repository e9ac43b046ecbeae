"""``metro demo``: two rooms, recorded, encoded, mapped, and crossed, all for real."""

from pathlib import Path

import numpy as np
from rich.console import Console

from metro.display import print_inspection, print_journey, progress_bar
from metro.evaluation.benchmark import load_benchmark
from metro.evaluation.guides import FlatGuide, MetroGuide
from metro.evaluation.queries import Query, sample_queries
from metro.evaluation.runner import Attempt, Guide, run_attempts
from metro.graph import FrameGraph, build_graph
from metro.inspection import inspect_graph
from metro.integrations.acting import ModelActor
from metro.integrations.cem import CEMSettings
from metro.integrations.corpora import Corpus, open_corpus
from metro.integrations.encoding import encode_corpus
from metro.integrations.films import Ride, draw_map, write_film
from metro.integrations.models.frozen import FrozenModel
from metro.integrations.models.loading import load_model
from metro.integrations.recording.record import record
from metro.integrations.worlds import open_world
from metro.itinerary import plan_journey
from metro.neighbours import find_neighbours
from metro.planner import MetroPlanner
from metro.pricing import PricingCurve
from metro.search import find_routes
from metro.storage import load, save
from metro.types import Image, Row

MODEL = "lewm-small-tworoom"
_DISTANCE, _BUDGET = 75, 150
_WAYPOINT_BUDGET = 8


def run_demo(folder: Path, *, episodes: int, seed: int) -> None:
    """Do everything from the recording to the film; reuse what is there."""
    console = Console()
    folder.mkdir(parents=True, exist_ok=True)
    model = load_model(MODEL)
    with _recording(folder, model, episodes, seed) as corpus:
        graph = _graph(folder, corpus, model)
        print_inspection(inspect_graph(graph), str(folder / "tworoom.metro"))
        query = _far_query(corpus, seed)
        start, goal = _frames(corpus, query)
        routes = find_routes(graph, graph.latents.z[goal], held_out=query.episode)
        legs = plan_journey(routes, start)
        console.print(
            f"\nFrom frame {start} to frame {goal}, {_DISTANCE} frames apart, "
            f"episode {query.episode} held out:"
        )
        print_journey(graph.latents, start, goal, legs, held_out=query.episode)
        goal_latent = graph.latents.z[goal]
        rides = [
            _ride("plain CEM", 15, FlatGuide(goal_latent), model, corpus, query),
            _ride("metro", 1, MetroGuide(MetroPlanner(routes)), model, corpus, query),
        ]
        for ride in rides:
            console.print(f"{ride.name:>10}, h = {ride.plan_blocks}: {_outcome(ride)}")
        places = corpus.column("proprio")
        picture, film = folder / "tworoom.png", folder / "tworoom.gif"
        draw_map(rides, places, legs, goal, _room(corpus.row(start)), picture)
        write_film(rides, corpus.frames(query.episode)[query.goal], film)
    console.print(f"\n{picture}: the route and both paths. {film}: the same, moving.")


def _room(row: Row) -> Image:
    """Return the rooms at full size, with the agent where ``row`` has it."""
    world = open_world(load_benchmark("tworoom"))
    world.reset(0)
    world.restore(row)
    picture = world.draw()
    world.close()
    return picture


def _outcome(ride: Ride) -> str:
    if ride.frames_to_success is None:
        return f"not there after {_BUDGET} frames."
    return f"at the goal after {ride.frames_to_success} frames."


def _recording(folder: Path, model: FrozenModel, episodes: int, seed: int) -> Corpus:
    path = folder / f"tworoom-{episodes}-{seed}.h5"
    if not path.exists():
        with progress_bar(f"Recording {episodes} episodes") as progress:
            record(
                load_benchmark("tworoom"),
                path,
                episodes=episodes,
                seed=seed,
                image_size=model.image_size,
                workers=2,
                progress=progress,
            )
    return open_corpus(path)


def _graph(folder: Path, corpus: Corpus, model: FrozenModel) -> FrameGraph:
    path = folder / "tworoom.metro"
    wanted = {"model": model.digest, "corpus": corpus.digest}
    if path.exists():
        graph: FrameGraph = load(path)
        made = graph.latents.provenance
        if {name: made[name]["digest"] for name in wanted} == wanted:
            return graph
    with progress_bar("Encoding") as progress:
        latents = encode_corpus(
            corpus, model, folder / "tworoom.latents", progress=progress, force=True
        ).latents
    with progress_bar("Neighbour table") as progress:
        table = find_neighbours(latents, progress=progress)
    pricing = PricingCurve.fit(latents, _WAYPOINT_BUDGET)
    graph = build_graph(latents, table, pricing)
    save(graph, path, force=True)
    return graph


def _far_query(corpus: Corpus, seed: int) -> Query:
    """Return a query whose start and goal are in different rooms, far apart."""
    places = corpus.column("proprio")
    queries = sample_queries(
        corpus.lengths, goal_distance=_DISTANCE, count=100, seed=seed
    )
    return max(queries, key=lambda query: _apart(*places[list(_frames(corpus, query))]))


def _apart(start: np.ndarray, goal: np.ndarray) -> float:
    return float(np.abs(start - goal).sum())


def _frames(corpus: Corpus, query: Query) -> tuple[int, int]:
    first = int(corpus.offsets[query.episode])
    return first + query.start, first + query.goal


def _ride(
    name: str,
    plan_blocks: int,
    guide: Guide,
    model: FrozenModel,
    corpus: Corpus,
    query: Query,
) -> Ride:
    benchmark = load_benchmark("tworoom")
    world = open_world(benchmark, image_size=model.image_size)
    start, goal = (corpus.row(frame) for frame in _frames(corpus, query))
    world.reset(0)
    world.restore(start)
    world.aim(goal)
    first = corpus.frames(query.episode)[query.start]
    attempt = Attempt(world, first, guide, world.is_solved())
    settings = CEMSettings(plan_blocks, iterations=benchmark.cem_iterations)
    actor = ModelActor(model, settings, seeds=[7])
    with progress_bar(f"Planning with {name}") as progress:
        run_attempts(
            [attempt], actor, step_budget=_BUDGET, record=True, progress=progress
        )
    world.close()
    path = [start["proprio"], *(row["proprio"] for row in attempt.path)]
    pictures = np.stack([first, *attempt.pictures])
    return Ride(name, plan_blocks, attempt.frames_to_success, np.stack(path), pictures)

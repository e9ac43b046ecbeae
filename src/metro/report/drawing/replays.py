"""One query planned again with a camera on: what pictures and films are made of."""

import numpy as np

from metro.benchmark import load_benchmark
from metro.envs import open_world
from metro.evaluation.context import Bench
from metro.evaluation.queries import Query
from metro.evaluation.records import Setting
from metro.evaluation.run import plan_one
from metro.report.drawing.video import Ride
from metro.types import Image, Row

_PLACES = {"tworoom": "proprio"}
"""The column that is a place on the map, in worlds that have one."""


def take_ride(bench: Bench, name: str, setting: Setting, query: Query) -> Ride:
    """Return what a planner did with one query; the same as in its row."""
    attempt = plan_one(bench, setting, query)
    pictures = np.stack([attempt.first, *attempt.pictures])
    column = _PLACES.get(bench.benchmark.name)
    path = np.zeros((len(pictures), 2))
    if column is not None:
        start = bench.corpus.row(bench.frame_of(query.episode, query.start))
        path = np.stack([start[column], *(row[column] for row in attempt.path)])
    return Ride(name, setting.plan_blocks, attempt.frames_to_success, path, pictures)


def room_of(row: Row) -> Image:
    """Return the two rooms at full size, with the agent where ``row`` has it."""
    world = open_world(load_benchmark("tworoom"))
    world.reset(0)
    world.restore(row)
    picture = world.draw()
    world.close()
    return picture

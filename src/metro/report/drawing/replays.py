"""One query planned again with a camera on: what pictures and films are made of."""

import numpy as np

from metro.benchmark import Benchmark
from metro.envs import open_env
from metro.evaluation.batch import plan_one
from metro.evaluation.context import EvalContext
from metro.evaluation.queries import Query
from metro.evaluation.records import Setting
from metro.report.drawing.video import RecordedRollout
from metro.types import Image, StateColumns


def take_ride(
    context: EvalContext, name: str, setting: Setting, query: Query
) -> RecordedRollout:
    """Return what a planner did with one query; the same as in its row."""
    attempt = plan_one(context, setting, query)
    pictures = np.stack([attempt.first, *attempt.pictures])
    column = context.benchmark.map_column
    path = np.zeros((len(pictures), 2))
    if column is not None:
        start = context.corpus.row(context.frame_of(query.episode, query.start))
        path = np.stack([start[column], *(row[column] for row in attempt.path)])
    return RecordedRollout(
        name, setting.plan_blocks, attempt.frames_to_success, path, pictures
    )


def map_of(benchmark: Benchmark, row: StateColumns) -> Image:
    """Return the environment at full size in the state ``row``."""
    world = open_env(benchmark)
    world.reset(0)
    world.set_state(row)
    picture = world.render()
    world.close()
    return picture

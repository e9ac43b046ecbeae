"""Queries, guides and the closed loop, in a world of three lines."""

import re

import numpy as np
import pytest

from metro import MetroPlanner, PricingCurve, build_graph, find_neighbours, find_routes
from metro.errors import BenchmarkError
from metro.evaluation.guides import FlatGuide, MetroGuide
from metro.evaluation.queries import Query, load_queries, sample_queries, save_queries
from metro.evaluation.runner import Attempt, run_attempts
from metro.latents import Latents


class Line:
    """A point on a line; a step moves it by the action; the goal is one tick wide."""

    action_size = 1

    def __init__(self, place, goal):
        self.place, self.goal = float(place), float(goal)

    def step(self, action):
        self.place += float(action[0])
        return self.is_solved()

    def is_solved(self):
        return abs(self.place - self.goal) < 0.5

    def observe(self):
        return {"place": np.array([self.place])}

    def draw(self):
        return np.full((1, 1, 3), round(self.place), dtype=np.uint8)


class Walker:
    """Sees the place, and walks towards the target, at most one a frame."""

    def __init__(self, frames):
        self.frames = frames
        self.batches = []

    def encode(self, frames):
        return frames.reshape(len(frames), -1)[:, :1].astype(np.float32)

    def plan(self, observed, target, queries):
        self.batches.append(list(queries))
        stride = np.clip(target - observed, -1, 1)
        return np.repeat(stride[:, None], self.frames, axis=1).astype(np.float32)


def attempt(start, goal):
    world = Line(start, goal)
    guide = FlatGuide(np.array([goal], dtype=np.float32))
    return Attempt(world, world.draw(), guide, world.is_solved())


def test_success_latches_at_the_first_hit():
    """Frames until the goal was met, whatever the plan would have done afterwards."""
    attempts = [attempt(10, 14), attempt(10, 17), attempt(10, 90)]
    walker = Walker(frames=5)
    run_attempts(attempts, walker, step_budget=20)
    assert [a.frames_to_success for a in attempts] == [4, 7, None]
    assert attempts[0].world.place == 14
    assert walker.batches == [[0, 1, 2], [1, 2], [2], [2]]
    assert attempts[2].kinds == {"goal": 4}


def test_the_budget_is_kept():
    """A plan that is longer than what is left is cut."""
    only = attempt(0, 50)
    run_attempts([only], Walker(frames=5), step_budget=7)
    assert only.world.place == 7


def test_one_run_gives_every_smaller_budget():
    """Success within T' is read off a run with T > T'."""
    for budget in (3, 4, 7, 20):
        long, short = attempt(10, 14), attempt(10, 14)
        run_attempts([long], Walker(5), step_budget=40)
        run_attempts([short], Walker(5), step_budget=budget)
        met = long.frames_to_success is not None and long.frames_to_success <= budget
        assert (short.frames_to_success is not None) == met


def test_a_solved_start_is_told_and_costs_a_step():
    """It is flagged; the published protocol looks only after a step."""
    solved = attempt(10, 10)
    run_attempts([solved], Walker(5), step_budget=10)
    assert solved.is_presolved
    assert solved.frames_to_success == 1


def test_recordings_and_times(tmp_path):
    """Every moment is kept if asked for, and all time is accounted for."""
    only = attempt(10, 13)
    seconds = run_attempts([only], Walker(5), step_budget=9, record=True)
    assert [row["place"][0] for row in only.path] == [11, 12, 13]
    assert [int(picture[0, 0, 0]) for picture in only.pictures] == [11, 12, 13]
    assert min(vars(seconds).values()) >= 0


def test_metro_re_enters_every_second_plan():
    """One plan and one replan a sub-goal; then the graph is asked again."""
    rows = [np.arange(0, 30.0)[:, None], np.arange(0.25, 40)[:, None]]
    latents = Latents.from_episodes(rows)
    pricing = PricingCurve.fit(latents, waypoint_budget=4)
    graph = build_graph(latents, find_neighbours(latents), pricing)
    routes = find_routes(graph, np.float32([35.25]))
    guide = MetroGuide(MetroPlanner(routes))
    world = Line(3, 35.25)
    only = Attempt(world, world.draw(), guide, is_presolved=False)
    run_attempts([only], Walker(frames=2), step_budget=80)
    assert only.frames_to_success is not None
    plans = sum(only.kinds.values())
    assert len(guide.sub_goals) == -(-plans // 2)
    assert only.kinds["route"] > 0


def test_queries_cover_every_row_once():
    """As many as rows with a goal: each exactly once, in order."""
    found = sample_queries([3, 9, 6], goal_distance=4, count=7, seed=0)
    starts = [(1, step) for step in range(5)] + [(2, step) for step in range(2)]
    assert [(q.episode, q.start) for q in found] == starts
    assert {q.goal_distance for q in found} == {4}


def test_queries_by_seed():
    """The same seed, the same queries; another, others."""
    first, again, other = (
        sample_queries([101] * 50, goal_distance=25, count=50, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_queries_survive_a_file(tmp_path):
    """CSV, one line a query."""
    queries = [Query(3, 0, 25), Query(7, 12, 37)]
    save_queries(queries, tmp_path / "q.csv")
    assert (tmp_path / "q.csv").read_text() == "episode,start,goal\n3,0,25\n7,12,37\n"
    assert load_queries(tmp_path / "q.csv") == queries


def test_too_few_rows():
    """How many there are, and what to do."""
    told = (
        "The corpus has 2 starts with a goal 4 frames later, 3 queries were asked for. "
        "Record longer episodes."
    )
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        sample_queries([6], goal_distance=4, count=3, seed=0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must start with the line episode,start,goal, got nothing."),
        ("a,b\n", "must start with the line episode,start,goal, got a,b."),
        (
            "episode,start,goal\n1,2\n",
            "must be three whole numbers: episode,start,goal.",
        ),
    ],
)
def test_bad_query_files(tmp_path, text, told):
    """What is expected."""
    (tmp_path / "q.csv").write_text(text)
    with pytest.raises(BenchmarkError, match=re.escape(told)):
        load_queries(tmp_path / "q.csv")

"""Queries, guides and the closed loop, in a world of three lines."""

import re

import numpy as np
import pytest

from metro import MetroPlanner, PricingCurve, build_graph, find_neighbours, find_routes
from metro.core.latents import Latents
from metro.errors import BenchmarkError
from metro.evaluation.queries import Query, load_queries, sample_queries, save_queries
from metro.evaluation.records import (
    Setting,
    append_records,
    read_records,
    require_writable,
    run_key,
)
from metro.planners.closed_loop import Rollout, run_rollouts
from metro.planners.open_loop import RandomPlanner, ReplayPlanner
from metro.planners.selectors import (
    CommittedSelector,
    GoalSelector,
    MetroSelector,
    OracleSelector,
    TimeIndexedSelector,
)


class MethodResult:
    """A point on a line; a step moves it by the action; the goal is one tick wide."""

    action_size = 1

    def __init__(self, place, goal):
        self.place, self.goal = float(place), float(goal)

    def step(self, action):
        self.place += float(action[0])
        return self.is_solved()

    def is_solved(self):
        return abs(self.place - self.goal) < 0.5

    def get_state(self):
        return {"place": np.array([self.place])}

    def render(self):
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
    world = MethodResult(start, goal)
    guide = GoalSelector(np.array([goal], dtype=np.float32))
    return Rollout(world, world.render(), guide, world.is_solved())


def test_success_latches_at_the_first_hit():
    """Frames until the goal was met, whatever the plan would have done afterwards."""
    attempts = [attempt(10, 14), attempt(10, 17), attempt(10, 90)]
    walker = Walker(frames=5)
    run_rollouts(attempts, walker, step_budget=20)
    assert [a.frames_to_success for a in attempts] == [4, 7, None]
    assert attempts[0].world.place == 14
    assert walker.batches == [[0, 1, 2], [1, 2], [2], [2]]
    assert attempts[2].kinds == {"goal": 4}


def test_the_budget_is_kept():
    """A plan that is longer than what is left is cut."""
    only = attempt(0, 50)
    run_rollouts([only], Walker(frames=5), step_budget=7)
    assert only.world.place == 7


def test_one_run_gives_every_smaller_budget():
    """Success within T' is read off a run with T > T'."""
    for budget in (3, 4, 7, 20):
        long, short = attempt(10, 14), attempt(10, 14)
        run_rollouts([long], Walker(5), step_budget=40)
        run_rollouts([short], Walker(5), step_budget=budget)
        met = long.frames_to_success is not None and long.frames_to_success <= budget
        assert (short.frames_to_success is not None) == met


def test_a_solved_start_is_told_and_costs_a_step():
    """It is flagged; the published protocol looks only after a step."""
    solved = attempt(10, 10)
    run_rollouts([solved], Walker(5), step_budget=10)
    assert solved.is_presolved
    assert solved.frames_to_success == 1


def test_recordings_and_times(tmp_path):
    """Every moment is kept if asked for, and all time is accounted for."""
    only = attempt(10, 13)
    seconds = run_rollouts([only], Walker(5), step_budget=9, record=True)
    assert [row["place"][0] for row in only.path] == [11, 12, 13]
    assert [int(picture[0, 0, 0]) for picture in only.pictures] == [11, 12, 13]
    assert min(vars(seconds).values()) >= 0


def test_metro_re_enters_every_second_plan():
    """One plan and one replan a sub-goal; then the graph is asked again."""
    routes = find_routes(line_graph(), np.float32([35.25]))
    guide = MetroSelector(MetroPlanner(routes))
    world = MethodResult(3, 35.25)
    only = Rollout(world, world.render(), guide, is_presolved=False)
    run_rollouts([only], Walker(frames=2), step_budget=80)
    assert only.frames_to_success is not None
    plans = sum(only.kinds.values())
    assert len(guide.sub_goals) == -(-plans // 2)
    assert only.kinds["route"] > 0


class Mortal(MethodResult):
    """A line whose simulator breaks at a place, when it moves or when it is drawn."""

    def __init__(self, place, goal, *, moves):
        super().__init__(place, goal)
        self.moves = moves

    def step(self, action):
        solved = super().step(action)
        if self.moves and self.place > 12:
            raise RuntimeError("NaN in qacc")
        return solved

    def render(self):
        if not self.moves and self.place > 12:
            raise RuntimeError("no context")
        return super().render()


@pytest.mark.parametrize(
    ("moves", "told"),
    [(True, "RuntimeError: NaN in qacc"), (False, "RuntimeError: no context")],
)
def test_a_world_that_dies_does_not_end_the_others(moves, told):
    """It is marked, not solved; the rest of the batch goes on."""
    world = Mortal(10, 17, moves=moves)
    dying = Rollout(world, world.render(), GoalSelector(np.float32([17])), False)
    living = attempt(10, 17)
    run_rollouts([dying, living], Walker(frames=3), step_budget=20)
    assert (dying.frames_to_success, dying.error) == (None, told)
    assert (living.frames_to_success, living.error) == (7, None)


def line_graph():
    """Two recordings of the same line, one a quarter further."""
    rows = [np.arange(0, 30.0)[:, None], np.arange(0.25, 40)[:, None]]
    latents = Latents.from_episodes(rows)
    pricing = PricingCurve.fit(latents, waypoint_budget=4)
    return build_graph(latents, find_neighbours(latents), pricing)


def test_committed_follows_the_first_route_wherever_it_lands():
    """Sub-goals do not depend on what is observed after the first."""
    planner = MetroPlanner(find_routes(line_graph(), np.float32([35.25])))
    first, second = CommittedSelector(planner), CommittedSelector(planner)
    start = np.float32([3])
    lost = [start] + [np.float32([place]) for place in (29, 0, 17, 8)] * 5
    told = [first(place, 0) for place in lost]
    kept = [second(start, 0) for _ in lost]
    assert [t[1] for t in told] == [k[1] for k in kept]
    for one, other in zip(told, kept, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
    costs = [sub_goal.cost_to_go for sub_goal in first.sub_goals]
    assert costs == sorted(costs, reverse=True)
    assert told[-1][0] == [35.25]


def test_committed_where_there_is_no_way():
    """Without a route the first answer stays."""
    planner = MetroPlanner(find_routes(line_graph(), np.float32([900])))
    guide = CommittedSelector(planner)
    kinds = {guide(np.float32([3]), 0)[1] for _ in range(6)}
    assert len(kinds) == 1
    assert kinds <= {"nearest_to_goal", "goal_no_route"}


def test_the_oracle_finds_itself_and_looks_one_hop_ahead():
    """From the most alike frame of its own recording, wherever the clock is."""
    own = np.arange(10, 31, dtype=np.float32)[:, None]
    guide = OracleSelector(own, hop=5)
    assert guide(np.float32([12.2]), 0) == (own[7], "own_frame")
    assert guide(np.float32([29]), 5) == (own[7], "own_frame")  # the second micro plan
    assert guide(np.float32([29]), 10) == (own[20], "goal")


def test_waypoints_go_by_the_clock():
    """Where the recording was one hop later, at last the goal."""
    own = np.arange(10, 31, dtype=np.float32)[:, None]
    guide = TimeIndexedSelector(own, hop=5)
    found = [guide(np.float32([0]), step) for step in (0, 5, 15, 90)]
    assert found == [
        (own[5], "own_frame"),
        (own[10], "own_frame"),
        (own[20], "goal"),
        (own[20], "goal"),
    ]


def test_scripts_are_replayed_then_it_stays():
    """Recorded actions one plan after another, zeros when they are used up."""
    script = np.arange(1, 8, dtype=np.float32)[:, None]
    actor = ReplayPlanner([script, script[:0]], frames=5)
    first, second = (actor.plan(None, None, [0, 1])[:, :, 0] for _ in range(2))
    assert first.tolist() == [[1, 2, 3, 4, 5], [0] * 5]
    assert second.tolist() == [[6, 7, 0, 0, 0], [0] * 5]


def test_random_actions_belong_to_the_query():
    """In the range of the worlds, the same whatever is planned beside them."""
    together, alone = (RandomPlanner(2, 5, seeds=[3, 4]) for _ in range(2))
    both = together.plan(None, None, [0, 1])
    np.testing.assert_array_equal(alone.plan(None, None, [1]), both[1:])
    assert np.abs(both).max() <= 1
    assert not np.array_equal(together.plan(None, None, [0, 1]), both)


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
    found = load_queries(tmp_path / "q.csv")
    assert list(found) == queries
    assert (found.name, found.corpus) == ("q.csv", None)


def test_what_is_known_of_queries_survives(tmp_path):
    """Corpus, solved starts and the recording's own time go with them."""
    queries = [Query(3, 0, 25, True, 20), Query(7, 12, 37, False, None)]
    save_queries(queries, tmp_path / "q.csv", corpus="abc")
    found = load_queries(tmp_path / "q.csv")
    assert [vars(query) for query in found] == [vars(query) for query in queries]
    assert found.corpus == "abc"
    found.require_corpus("abc")
    told = (
        "q.csv has queries of corpus abc, this one is 0123456789ab. Record the corpus "
        "anew (docs/results.md has the command), or sample queries of this one: "
        "metro queries."
    )
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        found.require_corpus("0123456789abcdef")


def test_too_few_rows():
    """How many there are, and what to do."""
    told = (
        "The corpus has 2 starts with a goal 4 frames later, 3 queries were asked for. "
        "Its longest episode has 6 frames: record longer ones, or ask for nearer goals."
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
            "must be whole numbers: episode,start,goal.",
        ),
    ],
)
def test_bad_query_files(tmp_path, text, told):
    """What is expected."""
    (tmp_path / "q.csv").write_text(text)
    with pytest.raises(BenchmarkError, match=re.escape(told)):
        load_queries(tmp_path / "q.csv")


def test_the_first_queries_keep_the_name_of_their_file(tmp_path):
    path = tmp_path / "some.csv"
    save_queries([Query(0, 1, 5), Query(1, 2, 6), Query(4, 0, 4)], path)
    found = load_queries(path)
    some = found.first(2)
    assert list(some) == list(found)[:2]
    assert (some.name, some.digest) == (found.name, found.digest)
    for count in (0, 4):
        with pytest.raises(BenchmarkError, match=r"has 3 queries"):
            found.first(count)


def test_a_method_has_its_own_options():
    assert Setting("hi-lewm", 2, None, 50, 7, 1, "box").option == "box"
    with pytest.raises(BenchmarkError, match=r"flat has no option 'box'"):
        Setting("flat", 2, None, 50, 7, option="box")
    with pytest.raises(BenchmarkError, match=r"hi-lewm-c has no option 'box'"):
        Setting("hi-lewm-c", 2, None, 50, 7, 1, "box")


def test_rows_are_never_lost(tmp_path):
    """A whole last line is ended, half a line dropped, anything else left alone."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}')
    append_records([{"a": 3}], path)
    assert [row["a"] for row in read_records(path)] == [1, 2, 3]
    path.write_text('{"a": 1}\n{"a": ')
    append_records([{"a": 3}], path)
    assert [row["a"] for row in read_records(path)] == [1, 3]
    for text in (b"notes of mine", b"\x89HDF\r\n\x1a\n\x00\xff"):
        path.write_bytes(text)
        with pytest.raises(BenchmarkError, match=r"Line 1 of .* is not a row"):
            append_records([{"a": 3}], path)
        assert path.read_bytes() == text


def test_macro_steps_have_a_range():
    with pytest.raises(BenchmarkError, match=r"macro_steps must be 1 to"):
        Setting("hi-lewm", 2, None, 50, 7, 0)


def test_graphs_and_query_files_are_part_of_the_question():
    """Another k or α is another graph; rows that do not tell have the usual ones."""
    old = {"graph": "g", "queries": {"digest": "q"}}
    usual = {"num_neighbours": 4, "quantile": 0.25}
    assert run_key(old) == run_key(old | {"graph_options": usual})
    for name, value in (("num_neighbours", 1), ("quantile", 0.9)):
        assert run_key(old) != run_key(old | {"graph_options": usual | {name: value}})
    assert run_key(old) != run_key(old | {"queries": {"digest": "r"}})


def test_a_file_that_cannot_be_written_is_told_first(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BenchmarkError, match="rows.jsonl cannot be written"):
        require_writable(tmp_path / "notes.txt" / "rows.jsonl")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_queries_that_are_none(tmp_path):
    """A file of something else, and one without a query."""
    path = tmp_path / "q.csv"
    path.write_bytes(b"\x89HDF\r\n\x1a\n\x00\r\x00" * 9)
    with pytest.raises(BenchmarkError, match="q.csv must start with the line episode"):
        load_queries(path)
    path.write_text("episode,start,goal\n")
    with pytest.raises(BenchmarkError, match="q.csv has no queries. Sample some"):
        load_queries(path)


def test_negative_seeds_are_refused():
    with pytest.raises(BenchmarkError, match="^planner_seed must be 0 or more, got -1"):
        Setting("flat", 1, None, 50, -1)
    with pytest.raises(BenchmarkError, match="^seed must be 0 or more, got -1"):
        sample_queries([50], goal_distance=5, count=1, seed=-1)

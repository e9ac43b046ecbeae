"""Queries, guides and the closed loop, in a world of three lines."""

import numpy as np
import pytest

from metro import MetroPlanner, PricingCurve, build_graph, find_neighbours, find_routes
from metro.core.latents import Latents
from metro.evaluation.rollout import Rollout, run_rollouts
from metro.planners.methods.committed import CommittedSelector
from metro.planners.methods.flat import GoalSelector
from metro.planners.methods.metro import MetroSelector
from metro.planners.methods.oracle import OracleSelector
from metro.planners.methods.random import RandomPlanner
from metro.planners.methods.replay import ReplayPlanner
from metro.planners.methods.time_indexed_oracle import TimeIndexedSelector


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
    assert attempts[0].env.place == 14
    assert walker.batches == [[0, 1, 2], [1, 2], [2], [2]]
    assert attempts[2].kinds == {"goal": 4}


def test_the_budget_is_kept():
    """A plan that is longer than what is left is cut."""
    only = attempt(0, 50)
    run_rollouts([only], Walker(frames=5), step_budget=7)
    assert only.env.place == 7


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

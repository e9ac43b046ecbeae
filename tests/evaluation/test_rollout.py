"""Rollouts of queries, in an environment of three lines."""

import numpy as np
import pytest

from line_makers import Line, Walker, line_rollout
from metro.evaluation.rollout import Rollout, run_rollouts
from metro.planners.methods.flat import GoalSelector


def test_success_latches_at_the_first_hit():
    """Frames until the goal was met, whatever the plan would have done afterwards."""
    rollouts = [line_rollout(10, 14), line_rollout(10, 17), line_rollout(10, 90)]
    walker = Walker(frames=5)
    run_rollouts(rollouts, walker, step_budget=20)
    assert [a.frames_to_success for a in rollouts] == [4, 7, None]
    assert rollouts[0].env.place == 14
    assert walker.batches == [[0, 1, 2], [1, 2], [2], [2]]
    assert rollouts[2].kinds == {"goal": 4}


def test_the_budget_is_kept():
    """A plan that is longer than what is left is cut."""
    only = line_rollout(0, 50)
    run_rollouts([only], Walker(frames=5), step_budget=7)
    assert only.env.place == 7


def test_one_run_gives_every_smaller_budget():
    """Success within T' is read off a run with T > T'."""
    for budget in (3, 4, 7, 20):
        long, short = line_rollout(10, 14), line_rollout(10, 14)
        run_rollouts([long], Walker(5), step_budget=40)
        run_rollouts([short], Walker(5), step_budget=budget)
        met = long.frames_to_success is not None and long.frames_to_success <= budget
        assert (short.frames_to_success is not None) == met


def test_a_solved_start_is_told_and_costs_a_step():
    """It is flagged; the published protocol looks only after a step."""
    solved = line_rollout(10, 10)
    run_rollouts([solved], Walker(5), step_budget=10)
    assert solved.is_presolved
    assert solved.frames_to_success == 1


def test_recordings_and_times(tmp_path):
    """Every moment is kept if asked for, and all time is accounted for."""
    only = line_rollout(10, 13)
    seconds = run_rollouts([only], Walker(5), step_budget=9, record=True)
    assert [row["place"][0] for row in only.path] == [11, 12, 13]
    assert [int(picture[0, 0, 0]) for picture in only.pictures] == [11, 12, 13]
    assert min(vars(seconds).values()) >= 0


class Mortal(Line):
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
def test_an_environment_that_dies_does_not_end_the_others(moves, told):
    """It is marked, not solved; the rest of the batch continues."""
    env = Mortal(10, 17, moves=moves)
    dying = Rollout(env, env.render(), GoalSelector(np.float32([17])), False)
    living = line_rollout(10, 17)
    run_rollouts([dying, living], Walker(frames=3), step_budget=20)
    assert (dying.frames_to_success, dying.error) == (None, told)
    assert (living.frames_to_success, living.error) == (7, None)

"""Observe, choose a sub-goal, plan, act: each environment on its own."""

import time
from itertools import count

import numpy as np
import pytest

from line_makers import Walker
from metro.planners.closed_loop import ClosedLoop, Seconds
from metro.planners.methods.flat import GoalSelector


class Told:
    """A selector that says its words in turn, and remembers what it was asked."""

    def __init__(self, *words, place=9.0):
        self.words, self.place, self.asked = list(words), place, []

    def __call__(self, observed, step):
        self.asked.append((float(observed[0]), step))
        word = self.words[(len(self.asked) - 1) % len(self.words)]
        return np.float32([self.place]), word


class Counting(Walker):
    """Plans 1, 2, 3, ... for each query, whatever it sees."""

    def __init__(self, frames):
        super().__init__(frames)
        self.numbers, self.targets = {}, []

    def plan(self, observed, target, queries):
        self.targets.append(target[:, 0].tolist())
        rows = []
        for query in queries:
            numbers = self.numbers.setdefault(query, count(1))
            rows.append([[next(numbers)] for _ in range(self.frames)])
        return np.float32(rows)


def views(*places):
    """Return frames that show these places."""
    return np.uint8(places)[:, None, None, None] * np.ones((1, 1, 3), np.uint8)


def handed_out(loop, number, num=1):
    return [float(action[0]) for action in loop.next_actions(number, num)]


def test_whole_plans_are_executed_before_the_next_look():
    """An environment waits for a frame only when all of its plan is handed out."""
    loop = ClosedLoop(Counting(frames=3))
    loop.begin(0, lambda observed: Told("goal"))
    assert loop.is_waiting(0)
    loop.observe(views(5), [0])
    waits = []
    for _ in range(3):
        waits.append((loop.is_waiting(0), loop.num_planned(0)))
        loop.next_actions(0)
    assert waits == [(False, 3), (False, 2), (False, 1)]
    assert loop.is_waiting(0)


def test_actions_come_in_the_order_of_the_plan():
    """Actions taken one by one or several at once are the plan, first to last."""
    loop = ClosedLoop(Counting(frames=4))
    loop.begin(0, lambda observed: Told("goal"))
    loop.observe(views(5), [0])
    assert handed_out(loop, 0) + handed_out(loop, 0, 3) == [1, 2, 3, 4]


def test_more_actions_than_planned_are_refused():
    """Nothing is made up once the plan is used up."""
    loop = ClosedLoop(Counting(frames=2))
    loop.begin(0, lambda observed: Told("goal"))
    loop.observe(views(5), [0])
    with pytest.raises(IndexError):
        loop.next_actions(0, 3)


def test_the_selector_is_told_what_is_seen_and_how_many_steps_were_taken():
    """Every look asks with the present latent and the actions handed out so far."""
    selector = Told("goal")
    loop = ClosedLoop(Counting(frames=2))
    loop.begin(0, lambda observed: selector)
    for place in (5, 6, 8):
        loop.observe(views(place), [0])
        loop.next_actions(0, 2)
    assert selector.asked == [(5, 0), (6, 2), (8, 4)]


def test_the_selector_is_made_once_from_the_first_look():
    """Of all that is seen only the first latent makes the selector."""
    made = []

    def make(observed):
        made.append(observed.tolist())
        return Told("goal")

    loop = ClosedLoop(Counting(frames=1))
    loop.begin(0, make)
    assert made == []
    for place in (5, 6, 7):
        loop.observe(views(place), [0])
    assert made == [[5.0]]


def test_a_held_target_is_planned_for_again():
    """The planner gets the selector's target at every look, wherever it looks from."""
    planner = Counting(frames=1)
    loop = ClosedLoop(planner)
    loop.begin(0, lambda observed: GoalSelector(observed + 2))
    for place in (5, 30, 1):
        loop.observe(views(place), [0])
    assert planner.targets == [[7.0], [7.0], [7.0]]


def test_begin_forgets():
    """A new episode has no plan, no steps, no kinds and no selector of the old one."""
    old, new = Told("route"), Told("goal")
    loop = ClosedLoop(Counting(frames=3))
    loop.begin(0, lambda observed: old)
    loop.observe(views(5), [0])
    loop.next_actions(0)
    loop.begin(0, lambda observed: new)
    assert loop.is_waiting(0)
    loop.observe(views(6), [0])
    assert (len(old.asked), new.asked) == (1, [(6, 0)])
    assert loop.episodes[0].kinds == {"goal": 1}


def test_begin_leaves_the_others_alone():
    """An episode that starts anew does not touch the plan of another environment."""
    loop = ClosedLoop(Counting(frames=3))
    for number in (0, 1):
        loop.begin(number, lambda observed: Told("goal"))
    loop.observe(views(5, 6), [0, 1])
    loop.begin(0, lambda observed: Told("goal"))
    assert handed_out(loop, 1, 3) == [1, 2, 3]


def test_environments_are_independent():
    """What an environment does is the same alone and beside another."""

    def actions_of_one(numbers):
        loop = ClosedLoop(Walker(frames=2))
        goals = {0: 0.0, 1: 20.0}
        for number in numbers:
            goal = np.float32([goals[number]])
            loop.begin(number, lambda observed, goal=goal: GoalSelector(goal))
        loop.observe(views(*(10 + number for number in numbers)), numbers)
        return handed_out(loop, 1, 2)

    assert actions_of_one([1]) == actions_of_one([1, 0]) == actions_of_one([0, 1])


def test_kinds_are_counted_per_look():
    """Each word of a selector counts once a plan, in its own environment."""
    loop = ClosedLoop(Counting(frames=3))
    loop.begin(4, lambda observed: Told("route", "route", "goal"))
    loop.begin(7, lambda observed: Told("none"))
    for numbers in ([4, 7], [4], [4], [4]):
        loop.observe(views(*numbers), numbers)
    assert loop.episodes[4].kinds == {"route": 3, "goal": 1}
    assert loop.episodes[7].kinds == {"none": 1}


@pytest.mark.parametrize("phase", ["encode", "search", "entry", "plan"])
def test_seconds_go_to_their_phase(phase):
    """Time spent encoding, searching, entering or planning is added to that alone."""
    planner, selector = Counting(frames=1), Told("goal")

    def slow(name, function):
        def run(*args):
            time.sleep(0.05 if name == phase else 0)
            return function(*args)

        return run

    planner.encode = slow("encode", planner.encode)
    planner.plan = slow("plan", planner.plan)
    seconds = Seconds()
    loop = ClosedLoop(planner, seconds)
    loop.begin(0, slow("search", lambda observed: slow("entry", selector)))
    loop.observe(views(5), [0])
    spent = vars(seconds)
    assert spent[phase] >= 0.05
    assert seconds.draw == seconds.step == 0


def test_seconds_add_up():
    """A phase that is entered twice has the time of both."""
    seconds = Seconds(plan=100)
    for _ in range(2):
        with seconds.of("plan"):
            time.sleep(0.02)
    assert 100.04 <= seconds.plan < 110

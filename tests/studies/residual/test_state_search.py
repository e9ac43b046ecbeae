"""Laws of the realisability residual, on environments that are formulas."""

import numpy as np
import pytest

from metro.envs.state_space import StateSpace
from metro.errors import BenchmarkError, LatentsError, WorldError
from metro.studies.residual.state_search import (
    BUDGETS,
    Budget,
    Starts,
    find_budget,
    search_states,
)

SMALL, LARGE = Budget(2, 15, 96), Budget(4, 25, 96)
SPACE = StateSpace(
    ("x", "y", "angle"),
    np.array([0.0, 0.0, -np.pi]),
    np.array([10.0, 10.0, np.pi]),
    np.array([False, False, True]),
)
SPREAD = np.array([2.0, 2.0, 1.0])


def see(states):
    """A picture of two places and a direction: the angle has no seam in it."""
    x, y, angle = states.T
    return np.stack([x, y, 3 * np.cos(angle), 3 * np.sin(angle)], axis=1)


def look_for(target, *, budget=SMALL, space=SPACE, encode=see, seed=(0,), starts=None):
    if starts is None:
        starts = np.tile([5.0, 5.0, 2.5], (budget.restarts, 1))
    return search_states(
        target, space, encode, Starts(starts, SPREAD), budget=budget, seed=seed
    )


def test_budgets_are_the_papers():
    """23,040 renders, and four times as many."""
    assert BUDGETS["small"].num_renders == 23_040
    assert BUDGETS["large"].num_renders == 92_160
    with pytest.raises(BenchmarkError, match="^budget must be one of small, large, "):
        find_budget("huge")


def test_finds_the_state_behind_a_picture_across_the_seam():
    """The angle is wrapped: from 2.5 the way to -3 leads over π."""
    state = np.array([7.0, 2.0, -3.0])
    found = look_for(see(state[None])[0]).within(SMALL)
    assert found.residual < 1e-2
    assert np.abs(SPACE.between(state, found.state)).max() < 1e-2


def test_what_no_state_shows_stays_far():
    """A latent 4 away from the nearest picture has a residual of 4, at any budget."""
    target = np.array([7.0, 14.0, 3.0, 0.0])  # y ends at 10
    trail = look_for(target, budget=LARGE)
    assert trail.within(LARGE).residual == pytest.approx(4.0, abs=1e-2)
    assert trail.within(LARGE).state[1] == 10.0


def test_more_never_finds_less_and_contains_less():
    """The small search is the first part of the large one, bit for bit."""
    target = np.array([1.0, 9.0, 1.0, 1.0])
    large, small = look_for(target, budget=LARGE), look_for(target, budget=SMALL)
    assert large.within(SMALL).residual == small.within(SMALL).residual
    assert np.array_equal(large.within(SMALL).state, small.within(SMALL).state)
    assert large.within(LARGE).residual <= small.within(SMALL).residual
    history = large.best_so_far(LARGE)
    assert history == sorted(history, reverse=True)
    with pytest.raises(BenchmarkError, match="does not say what"):
        small.within(LARGE)


def test_only_possible_states_are_drawn():
    """Every state that is drawn is inside the limits and outside the wall."""
    drawn = []

    def refuse(states):
        return states, np.abs(states[:, 0] - 5) > 1  # a wall at x = 4 to 6

    def draw(states):
        drawn.append(states)
        return see(states)

    space = StateSpace(SPACE.names, SPACE.low, SPACE.high, SPACE.is_wrapped, refuse)
    found = look_for(np.array([5.0, 12.0, 3.0, 0.0]), space=space, encode=draw)
    states = np.concatenate(drawn)
    assert ((states >= SPACE.low) & (states <= SPACE.high)).all()
    assert (np.abs(states[:, 0] - 5) > 1).all()
    assert found.within(SMALL).num_renders == len(states) < SMALL.num_renders
    assert found.within(SMALL).residual == pytest.approx(np.sqrt(1 + 4), abs=0.05)


def test_a_space_without_possible_states_draws_nothing():
    """Nothing is drawn, and the residual is infinite."""

    def refuse(states):
        return states, np.zeros(len(states), dtype=bool)

    space = StateSpace(SPACE.names, SPACE.low, SPACE.high, SPACE.is_wrapped, refuse)
    found = look_for(np.zeros(4), space=space, encode=None).within(SMALL)
    assert found.residual == np.inf
    assert found.num_renders == 0


def test_a_restart_that_is_still_stops():
    """When candidates no longer differ, no more pictures are drawn."""
    long = Budget(1, 200, 96)
    found = look_for(see(np.array([[7.0, 2.0, 1.0]]))[0], budget=long).within(long)
    assert found.residual < 1e-2
    assert found.num_renders < long.num_renders / 2


def test_seeds_decide():
    """The same seed gives the same search, another one another."""
    target = np.array([1.0, 9.0, 1.0, 1.0])
    first, again, other = (look_for(target, seed=s).gaps for s in ((1,), (1,), (2,)))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (
            [1.0, 2.0],
            r"^A state has 3 finite numbers \(x, y, angle\), got \[1.0, 2.0\]",
        ),
        ([1.0, np.nan, 0.0], "^A state has 3 finite numbers"),
        ([1.0, 11.0, 0.0], "^y must be 0 to 10, got 11.$"),
        ([1.0, 2.0, 4.0], "^angle must be -3.14159 to 3.14159, got 4.$"),
    ],
)
def test_states_outside_limits_are_refused(state, message):
    with pytest.raises(WorldError, match=message):
        SPACE.require(state)


def test_states_inside_a_wall_are_refused():
    space = StateSpace(
        SPACE.names,
        SPACE.low,
        SPACE.high,
        SPACE.is_wrapped,
        lambda states: (np.maximum(states, [2, 0, -4]), states[:, 1] < 9),
    )
    assert space.require([3.0, 3.0, 0.0]).tolist() == [3.0, 3.0, 0.0]
    for state in ([1.0, 3.0, 0.0], [3.0, 9.5, 0.0]):
        with pytest.raises(WorldError, match="^No such state can exist, something is"):
            space.require(state)


def test_latents_of_another_size_are_refused():
    with pytest.raises(LatentsError, match="^The latent has 5 dimensions, pictures"):
        look_for(np.zeros(5))
    with pytest.raises(LatentsError, match="^A latent is one row of finite numbers"):
        look_for(np.full(4, np.nan))


def test_too_few_starts_are_refused():
    message = r"^2 restarts need as many starts \[3\], got an array of shape \(1, 3\).$"
    with pytest.raises(BenchmarkError, match=message):
        look_for(np.zeros(4), starts=np.zeros((1, 3)))

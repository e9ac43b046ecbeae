"""Environments are opened once, shared, and closed."""

import pytest

from metro.evaluation.env_pool import EnvPool


class Fake:
    """An environment that can be closed, or fails at it."""

    def __init__(self, *, fails=False):
        self.fails, self.closed = fails, 0

    def close(self):
        self.closed += 1
        if self.fails:
            raise OSError("the renderer is gone")


@pytest.fixture
def opened():
    return []


@pytest.fixture
def pool(opened):
    def open_env():
        opened.append(Fake())
        return opened[-1]

    return EnvPool(open_env)


def test_nothing_is_opened_before_it_is_needed(pool, opened):
    """A pool opens as many environments as the most that were taken at once."""
    assert opened == []
    for count in (2, 1, 3, 0):
        pool.take(count)
    assert len(opened) == 3


def test_the_same_environments_every_time(pool):
    """Who takes more gets those from before first, in their order."""
    two = pool.take(2)
    assert pool.take(3)[:2] == two
    assert pool.take(1) == two[:1]


def test_what_is_taken_is_a_list_of_ones_own(pool):
    """Emptying what was taken takes nothing from the pool."""
    taken = pool.take(2)
    first = taken[0]
    taken.clear()
    assert pool.take(2)[0] is first


def test_discarded_environments_are_closed_and_replaced(pool, opened):
    """A discarded environment is closed once, and a new one takes its place."""
    first, second = pool.take(2)
    pool.discard(first)
    assert (first.closed, second.closed) == (1, 0)
    assert pool.take(2) == [second, opened[2]]


def test_the_dead_are_discarded_though_they_do_not_close():
    """An environment whose close fails is gone, and the others are closed too."""
    made = iter([Fake(fails=True), Fake(), Fake()])
    pool = EnvPool(lambda: next(made))
    dead, alive = pool.take(2)
    pool.discard(dead, alive)
    assert alive.closed == 1
    assert pool.take(1)[0] not in (dead, alive)


def test_close_closes_all(pool, opened):
    """Every environment is closed once, also when close is called twice."""
    pool.take(4)
    pool.close()
    pool.close()
    assert [env.closed for env in opened] == [1] * 4

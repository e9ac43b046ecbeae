"""Random corpora for tests: lattice points (many exact ties) and real numbers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import oracles

import metro


@dataclass(frozen=True)
class Case:
    """A small corpus with everything that a query needs."""

    latents: metro.Latents
    oracle: oracles.Corpus
    num_neighbours: int
    waypoint_budget: int
    held_out: int | None
    goal: np.ndarray
    observed: np.ndarray

    @cached_property
    def table(self):
        """The neighbour table."""
        return metro.find_neighbours(self.latents, self.num_neighbours)

    @cached_property
    def pricing(self):
        """The pricing curve."""
        return metro.PricingCurve.fit(self.latents, self.waypoint_budget)

    @cached_property
    def graph(self):
        """The graph."""
        return metro.build_graph(self.latents, self.table, self.pricing)

    @cached_property
    def routes(self):
        """The routes to the goal."""
        return metro.find_routes(self.graph, self.goal, held_out=self.held_out)


def random_case(seed, *, lattice):
    """Return a random case; ``lattice`` makes all latents small whole numbers.

    Whole numbers have exact gaps, hence exact ties, duplicates and plateaus.
    """
    rng = np.random.default_rng([seed, int(lattice)])
    dim = int(rng.integers(1, 12))
    lengths = rng.integers(1, 12, size=rng.integers(1, 7))
    lengths[rng.integers(len(lengths))] = rng.integers(2, 14)
    z = _points(rng, int(lengths.sum()), dim, lattice=lattice)
    episodes = np.split(z, np.cumsum(lengths)[:-1])
    latents = metro.Latents.from_episodes(episodes)
    held_out = int(rng.integers(-1, len(lengths)))
    extra = _points(rng, 2, dim, lattice=lattice)
    goal, observed = (
        row if rng.random() < 0.4 else z[rng.integers(len(z))] for row in extra
    )
    return Case(
        latents=latents,
        oracle=oracles.Corpus([episode.tolist() for episode in episodes]),
        num_neighbours=int(rng.integers(1, 6)),
        waypoint_budget=int(rng.integers(1, lengths.max())),
        held_out=None if held_out < 0 else held_out,
        goal=goal,
        observed=observed,
    )


def _points(rng, count, dim, *, lattice):
    if lattice:
        return rng.integers(0, 4, (count, dim)).astype(np.float32)
    steps = rng.standard_normal((count, dim)) * rng.choice([0.2, 1.0])
    return np.cumsum(steps, axis=0).astype(np.float32)

"""What was tried in vain in this episode, and routes that avoid it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import compress, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metro.core.entry import Entries, find_entries
from metro.core.graph import FrameGraph
from metro.core.planner import MetroPlanner, SubGoal
from metro.core.reach import MOST_CHARGED
from metro.core.search import Routes
from metro.kernels.neighbours.gaps import gaps_between
from metro.types import Costs, Vector


class Jump(NamedTuple):
    """A part of a route that no recording shows.

    Attributes:
        start: Frame where it starts; None: the observation.
        stop: Frame where it ends; None: the goal.
    """

    start: int | None
    stop: int | None


class RememberingPlanner:
    """A planner that charges jumps for every try that did not approach the sub-goal.

    Its state is that of one episode: equal calls in equal order give equal answers.
    Until a try fails they are those of ``planner``, bit for bit. Decision: D39.

    Args:
        planner: Answers observations of this episode; others may share it.
        frames: Environment steps from one call to the next: what a try takes.
    """

    def __init__(self, planner: MetroPlanner, frames: int) -> None:
        self._planner, self._frames = planner, frames
        self._first = planner.routes
        self._last: tuple[Vector, SubGoal] | None = None
        self.failed: Counter[Jump] = Counter()
        """How often each jump was part of a try that failed."""

    @property
    def routes(self) -> Routes:
        """The present routes as far as they are searched by now."""
        return self._planner.routes

    def __call__(self, observed: ArrayLike) -> SubGoal:
        """Return the sub-goal for one observation ``[D]``."""
        graph = self._first.graph
        row = graph.latents.require_vector("observed", observed)
        tried = self._last
        (around,) = find_entries(graph, [row], held_out=self._first.held_out)
        failed = [] if tried is None else _tried_in_vain(graph, *tried, row)
        self.failed.update(failed)
        entries = self._charged(around)
        if any(jump.start is not None for jump in failed):
            self._search_again(entries)
        sub_goal = self._planner.decide(row, entries)
        self._last = row, sub_goal
        return sub_goal

    def _charged(self, around: Entries) -> Entries:
        """Return the entries, dearer where entering was tried in vain."""
        raised = np.zeros(len(around.candidates))
        for jump, tries in self.failed.items():
            if jump.start is None and jump.stop is not None:
                same = _stretch(self._first.graph, jump.stop)
                raised += _within(around.candidates, same) * self._frames * tries
        if not raised.any():
            return around
        charges = raised if around.charges is None else around.charges + raised
        return replace(around, charges=charges)

    def _search_again(self, entries: Entries) -> None:
        """Search with the costs that bridges and links have after all failed tries."""
        graph, links = self._first.graph, self._first.links
        cost, link_costs = graph.bridge_cost.copy(), links.costs.copy()
        for jump, tries in self.failed.items():
            if jump.start is None:
                continue
            before, charge = _stretch(graph, jump.start), self._frames * tries
            if jump.stop is None:
                link_costs += _within(links.frames, before) * charge
                continue
            # Bridges are sorted by their ends: those into a stretch lie together.
            after = _stretch(graph, jump.stop)
            into = slice(*graph.bridge_offsets[[after.start, after.stop]])
            cost[into] += _within(graph.bridge_frame[into], before) * charge
        most = graph.waypoint_budget + MOST_CHARGED
        raised = replace(
            graph,
            bridge_cost=np.minimum(cost, most),
            bridge_price=_prices(graph),
        )
        links = replace(links, costs=np.minimum(link_costs, most))
        routes = self._first.at_raised_costs(raised, links, entries)
        self._planner = MetroPlanner(routes, self._planner.no_route)


def _tried_in_vain(
    graph: FrameGraph, before: Vector, sub_goal: SubGoal, after: Vector
) -> Sequence[Jump]:
    """Return the jumps on the way to a sub-goal if it was not approached.

    Approached is what is nearer than before, or within what one step or block does.
    Without a route there is nothing that could be charged.
    """
    rows, target = np.stack([before, after]), sub_goal.latent
    if graph.reach is None or graph.measure is None:
        distances, near = gaps_between(rows, target), float(graph.pricing.gaps[0])
    else:
        targets = np.stack([target, target])[:, None]
        distances, near = graph.measure(rows, targets)[:, 0], graph.reach.floor
    approached = distances[1] < distances[0] or distances[1] <= near
    has_route = sub_goal.cost_to_go < np.inf
    return _jumps(graph, sub_goal) if has_route and not approached else ()


def _jumps(graph: FrameGraph, sub_goal: SubGoal) -> list[Jump]:
    """Return all jumps from the observation to the sub-goal."""
    path = sub_goal.path
    jumps = np.diff(graph.latents.episode_of(list(path))) != 0
    found = [Jump(None, path[0])]
    found += [Jump(*pair) for pair in compress(pairwise(path), jumps)]
    if sub_goal.frame is None:
        found.append(Jump(path[-1], None))
    return found


def _stretch(graph: FrameGraph, frame: int) -> slice:
    """Return the frames of the same episode that are less than H away.

    A jump one frame earlier or later is the same jump: it fails for the same reason.
    """
    rows = graph.latents.rows_of(int(graph.latents.episode_of(frame)))
    far = graph.waypoint_budget
    return slice(max(rows.start, frame - far + 1), min(rows.stop, frame + far))


def _within(frames: NDArray[np.integer], stretch: slice) -> NDArray[np.bool_]:
    return (frames >= stretch.start) & (frames < stretch.stop)


def _prices(graph: FrameGraph) -> Costs:
    return graph.bridge_cost if graph.bridge_price is None else graph.bridge_price

"""From an observation to the next sub-goal: enter the graph, walk, or fall back."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metro.core.entry import Entries, entry_at, find_entries
from metro.core.search import Routes, routes_to_frame
from metro.core.shortest_paths import AT_GOAL
from metro.errors import GraphError
from metro.kernels.neighbours.gaps import gaps_between
from metro.types import Gaps, Vector

NoRoute = Literal["nearest", "reachable"]


class SubGoalKind(Enum):
    """Which branch of Algorithm 1 gave the sub-goal. Paper: Alg. 1."""

    ROUTE = "route"
    """Found by walking the shortest path: J(z_obs) > H."""
    GOAL_IN_REACH = "goal_in_reach"
    """J(z_obs) <= H: the goal itself."""
    NEAREST_TO_GOAL = "nearest_to_goal"
    """No route; a recorded frame nearer to the goal, or on the way to one."""
    GOAL_NO_ROUTE = "goal_no_route"
    """No route, and no frame brings us nearer: the goal itself."""


@dataclass(frozen=True, eq=False)
class SubGoal:
    """What to head for next, and why.

    Attributes:
        kind: The branch of Algorithm 1.
        frame: The recorded frame to head for; None: the goal itself.
        latent: ``[D]`` bit for bit a row of the latents, or the goal.
        cost_to_go: J(z_obs) in frames, charges for reach included; ``inf``: no route.
        entry: u*, the frame where the graph is entered; None if it is not.
        spent: C(l*): frames from the observation to the sub-goal, entry included.
        hops: l*: edges walked after entering, the one to the goal included.
        path: Frames from the entry to the sub-goal, or to the last before the goal.
    """

    kind: SubGoalKind
    frame: int | None
    latent: Vector
    cost_to_go: float
    entry: int | None
    spent: float
    hops: int
    path: tuple[int, ...]


class MacroPlanner(Protocol):
    """Turns the latest observation into the next sub-goal.

    The goal is fixed when the planner is made.

    Paper: Eq. 2.
    """

    def __call__(self, observed: NDArray[Any]) -> SubGoal:
        """Return the sub-goal to head for from ``observed`` ``[D]``."""
        ...


class RouteCache:
    """The routes to one goal, searched further on demand.

    It saves later calls the work of earlier ones and changes no answer: what a search
    has settled is final, however far the search went. Threads may share it; at worst
    two of them do the same work.

    Args:
        routes: The result of a search, which may have stopped early.
    """

    def __init__(self, routes: Routes) -> None:
        self.routes = routes

    def certain_of(self, entries: Entries) -> Routes:
        """Return routes that are certain which of the entries is cheapest."""
        routes = self.routes.until_certain(entries)
        self.routes = routes
        return routes


class MetroPlanner:
    """Answers every observation with the sub-goal of Algorithm 1.

    Equal calls give equal answers, in any order and from several threads: wherever the
    micro planner lands, the next call enters the graph there. All that calls leave
    behind is a search that went further, in a `RouteCache`.

    Paper: Alg. 1, Sec. 5.3, Prop. 1.

    Args:
        routes: Cost-to-go and successors for the goal; a search that stopped early is
            resumed when an observation needs it.
        no_route: What to do when nothing reaches the goal. ``"nearest"``: the nearest
            to the goal of the k candidates, as Algorithm 1. ``"reachable"``: route to
            the reachable frame nearest to the goal, as the paper's prose.
    """

    def __init__(self, routes: Routes, no_route: NoRoute = "nearest") -> None:
        if no_route not in ("nearest", "reachable"):
            raise GraphError(
                f'no_route must be "nearest" or "reachable", got {no_route!r}.'
            )
        self.no_route = no_route
        self._cache = RouteCache(routes)

    @property
    def routes(self) -> Routes:
        """The routes as far as they are searched by now."""
        return self._cache.routes

    def __call__(self, observed: ArrayLike) -> SubGoal:
        """Return the sub-goal for one observation ``[D]``.

        Paper: Alg. 1. Decision: D5, D6.
        """
        return self.many([observed])[0]

    def many(self, observed: Sequence[ArrayLike]) -> list[SubGoal]:
        """Return the sub-goals for observations ``[B, D]``, attached together."""
        graph = self.routes.graph
        rows = [graph.latents.require_vector("observed", row) for row in observed]
        around = find_entries(graph, rows, held_out=self.routes.held_out)
        return [self.decide(*one) for one in zip(rows, around, strict=True)]

    def onward(self, frame: int) -> SubGoal | None:
        """Return the sub-goal that follows if we stand at a recorded frame exactly.

        None if no route leads on from there. Paper: Eq. 8.
        """
        frame = self.routes.graph.latents.require_frame("frame", frame)
        entries = entry_at(frame)
        return _follow(self._cache.certain_of(entries), entries)

    def decide(self, observed: Vector, entries: Entries) -> SubGoal:
        """Return the sub-goal for an observation that may enter at ``entries``."""
        sub_goal = _follow(self._cache.certain_of(entries), entries)
        if sub_goal is not None:
            return sub_goal
        if self.no_route == "reachable":
            return self._towards_reachable(observed, entries)
        return self._nearest_candidate(observed, entries)

    def _nearest_candidate(self, observed: Vector, entries: Entries) -> SubGoal:
        frames = entries.candidates
        nearest = self._nearer_to_goal(observed, frames)
        if nearest is None:
            return self._goal_itself(observed)
        price = entries.candidate_prices[frames == nearest][0]
        return self._recorded((nearest,), float(price))

    def _towards_reachable(self, observed: Vector, entries: Entries) -> SubGoal:
        routes = self.routes
        reached = routes.graph.reachable_from(entries.frames, held_out=routes.held_out)
        nearest = self._nearer_to_goal(observed, np.flatnonzero(reached))
        if nearest is None:
            return self._goal_itself(observed)
        step = _follow(routes_to_frame(routes, nearest), entries)
        assert step is not None  # it was found by going there
        # Arriving there is no further hop: the frame itself is what was sought.
        return self._recorded(step.path, step.spent)

    def _nearer_to_goal(
        self, observed: Vector, frames: NDArray[np.int64]
    ) -> int | None:
        """Return the frame nearest to the goal if it is nearer than ``observed``."""
        if len(frames) == 0:
            return None
        # Ascending, so that argmin breaks ties towards the lower frame.
        rows = self.routes.graph.latents.z[np.sort(frames)]
        gaps = self._gaps_to_goal(rows)
        if not gaps.min() < self._gaps_to_goal(observed[None])[0]:
            return None
        return int(np.sort(frames)[np.argmin(gaps)])

    def _gaps_to_goal(self, rows: NDArray[Any]) -> Gaps:
        """Return the gaps of rows ``[N, D]`` to the goal, the nearest of several."""
        gaps = np.stack([gaps_between(rows, goal) for goal in self.routes.goals])
        nearest: Gaps = gaps.min(axis=0)
        return nearest

    def _goal_itself(self, observed: Vector) -> SubGoal:
        goals = self.routes.goals
        nearest = int(np.argmin(gaps_between(np.stack(goals), observed)))
        return SubGoal(
            kind=SubGoalKind.GOAL_NO_ROUTE,
            frame=None,
            latent=goals[nearest],
            cost_to_go=np.inf,
            entry=None,
            spent=0.0,
            hops=0,
            path=(),
        )

    def _recorded(self, path: tuple[int, ...], spent: float) -> SubGoal:
        return SubGoal(
            kind=SubGoalKind.NEAREST_TO_GOAL,
            frame=path[-1],
            latent=self.routes.graph.latents.z[path[-1]],
            cost_to_go=np.inf,
            entry=path[0],
            spent=spent,
            hops=len(path) - 1,
            path=path,
        )


def _follow(routes: Routes, entries: Entries) -> SubGoal | None:
    """Return the sub-goal on the cheapest route, or None if there is no route.

    u* = argmin_u [κ(‖z_obs − z_u‖₂) + J(u)] over the admissible entries, ties by lower
    frame. As z_obs has no in-edges this backup is exact.

    Paper: Eq. 7, Prop. 1.
    """
    frames, prices = entries.frames, entries.prices
    totals = entries.costs + routes.cost_to_go[frames]
    if not (totals < np.inf).any():
        return None
    # Not argmin: candidates come by ascending gap, and ties go to the lower frame.
    best = np.lexsort((frames, totals))[0]
    entry, total, price = int(frames[best]), float(totals[best]), float(prices[best])
    if total <= routes.graph.waypoint_budget:
        kind, spent = SubGoalKind.GOAL_IN_REACH, total
        walked: tuple[int, ...] = (*routes.route(entry), AT_GOAL)
    else:
        kind = SubGoalKind.ROUTE
        walked, spent = _walk(routes, entry, price)
    arrived = walked[-1] == AT_GOAL
    # The search may have charged more than the frames of a walk that arrives within H.
    charged = routes.graph.bridge_price is not None or entries.charges is not None
    if charged and arrived and spent <= routes.graph.waypoint_budget:
        kind = SubGoalKind.GOAL_IN_REACH
    return SubGoal(
        kind=kind,
        frame=None if arrived else walked[-1],
        latent=(
            routes.goal_after(walked[-2])
            if arrived
            else routes.graph.latents.z[walked[-1]]
        ),
        cost_to_go=total,
        entry=entry,
        spent=spent,
        hops=len(walked) - 1,
        path=walked[:-1] if arrived else walked,
    )


def _walk(routes: Routes, entry: int, price: float) -> tuple[tuple[int, ...], float]:
    """Return the frames walked from ``entry`` and the frames spent.

    l* = max{l >= 1 : C(l) <= H}, the first hop whatever it costs. A walk that arrives
    ends in `AT_GOAL`.

    Paper: Eq. 8. Decision: D6.
    """
    path, spent = [entry], price
    while path[-1] != AT_GOAL:
        here, following = path[-1], int(routes.successor[path[-1]])
        # The goal is no vertex: its link has a price of its own.
        if following == AT_GOAL:
            cost = routes.link_prices[here]
        else:
            cost = routes.graph.edge_price(here, following)
        # The first hop is free of the budget: a walk that stands still never arrives.
        if len(path) > 1 and spent + cost > routes.graph.waypoint_budget:
            break
        path.append(following)
        spent += cost
    return tuple(path), spent

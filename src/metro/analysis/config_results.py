"""Cells: all runs of one method at one setting on one task, and the best of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metro.analysis.episode_results import PHASES, PLANNING, EpisodeResult, Task
from metro.analysis.statistics import non_dominated, success_curve
from metro.errors import BenchmarkError
from metro.models.presets import ACTION_BLOCK
from metro.planners.methods.registry import method_names

PAPER_BUDGETS = (30, 50, 60, 90, 100, 120, 130, 150, 180, 200, 300)
"""Budgets T of the paper's fronts."""
WITHOUT_PLANS = method_names(has_plans=False)
"""Methods that plan nothing: their seconds would say nothing."""


@dataclass(frozen=True)
class ConfigResult:
    """Runs of a method at one (h, H) on a task, a run a query and planner seed.

    Attributes:
        task: What was asked.
        method: Such as ``metro``.
        plan_blocks: h.
        waypoint_budget: H; None for methods without a graph.
        macro_steps: h_h; None for methods without macro actions.
        graph: Digest of the graph's latents; None: no graph.
        outcomes: By query, then seed; each pair once.
        notes: What a reader has to know about the rows.
    """

    task: Task
    method: str
    plan_blocks: int
    waypoint_budget: int | None
    macro_steps: int | None
    graph: str | None
    outcomes: tuple[EpisodeResult, ...]
    notes: tuple[str, ...] = ()

    @cached_property
    def step_budget(self) -> int:
        """T that every run was given; nothing is known beyond it."""
        return min(outcome.step_budget for outcome in self.outcomes)

    @cached_property
    def frames(self) -> NDArray[np.float64]:
        """Frames to success ``[n]``, infinite where there was none."""
        found = [outcome.frames for outcome in self.outcomes]
        return np.array([np.inf if value is None else value for value in found])

    @cached_property
    def is_presolved(self) -> NDArray[np.bool_]:
        """Which starts already met the goal, ``[n]``."""
        return np.array([outcome.is_presolved for outcome in self.outcomes])

    @cached_property
    def demonstration(self) -> NDArray[np.float64]:
        """Frames the recording needs ``[n]``, nan where not recorded."""
        found = [outcome.demonstration for outcome in self.outcomes]
        return np.array([np.nan if value is None else value for value in found])

    @property
    def setting(self) -> tuple[int | None, int | None]:
        """(h, H), None for what the method does not have."""
        blocks = None if self.method in WITHOUT_PLANS else self.plan_blocks
        return blocks, self.waypoint_budget

    @property
    def name(self) -> str:
        """The method with its h, H and h_h."""
        values = (*self.setting, self.macro_steps)
        named = zip(("h", "H", "h_h"), values, strict=True)
        parts = [f"{name} = {value}" for name, value in named if value is not None]
        return ", ".join([self.method, *parts])

    @cached_property
    def num_queries(self) -> int:
        """Queries that were asked, whatever the number of seeds."""
        return len({outcome.query for outcome in self.outcomes})

    @property
    def seeds(self) -> list[int]:
        """Planner seeds of the runs, ``[n]``."""
        return [outcome.seed for outcome in self.outcomes]

    @property
    def curve(self) -> NDArray[np.float64]:
        """Success within T, ``[step_budget + 1]``."""
        return success_curve(self.frames, self.step_budget)

    def solved(self, step_budget: int) -> NDArray[np.bool_]:
        """Return which runs succeed within ``step_budget``, ``[n]``."""
        if step_budget > self.step_budget:
            raise BenchmarkError(
                f"{self.method} was run for {self.step_budget} steps, success within "
                f"{step_budget} is not known. Run it with that step budget."
            )
        return self.frames <= step_budget

    def success(self, step_budget: int) -> float:
        """Return the share of runs that succeed within ``step_budget``."""
        return float(self.solved(step_budget).mean())

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Mean seconds of an episode by phase, at the whole budget."""
        return {
            phase: float(np.mean([row.seconds[phase] for row in self.outcomes]))
            for phase in PHASES
        }

    def planning_seconds(self, step_budget: int) -> float:
        """Return mean seconds of planning in an episode that ends at ``step_budget``.

        The search is done once; the rest is taken in proportion to the frames acted,
        for runs are timed at their whole budget.
        """
        used = np.minimum(self.frames, step_budget).mean()
        share = used / np.minimum(self.frames, self.step_budget).mean()
        rest = sum(self.seconds[phase] for phase in PLANNING if phase != "search")
        return float(self.seconds["search"] + share * rest)

    @property
    def macro_overhead(self) -> float | None:
        """(search + entry) / planning; None: nothing was planned, or nothing timed."""
        if self.method in WITHOUT_PLANS:
            return None
        total = sum(self.seconds[phase] for phase in PLANNING)
        macro = self.seconds["search"] + self.seconds["entry"]
        return macro / total if total > 0 else None

    @property
    def kinds(self) -> Counter[str]:
        """How often each kind of sub-goal came, over all runs."""
        return sum((Counter(row.kinds) for row in self.outcomes), Counter[str]())


def best_covered(cells: Sequence[ConfigResult]) -> list[ConfigResult]:
    """Return the cells that were asked the most queries, with one seed or several.

    A pilot of five queries, or a run that was interrupted, is not to win by luck.
    """
    most = max((cell.num_queries for cell in cells), default=0)
    return [cell for cell in cells if cell.num_queries == most]


def best_cell(cells: Iterable[ConfigResult], step_budget: int) -> ConfigResult | None:
    """Return the cell with the highest success within T, on the seeds that all have.

    Of the `fullest` only; of equals the one with more runs, then the fastest. A lucky
    seed alone is not to win against three, and a cell of one seed that loses on that
    seed is not to hide what the others have. None: no cell was run that long.
    """
    able = best_covered([cell for cell in cells if cell.step_budget >= step_budget])
    able = [cell for cell in able if not _is_beaten(cell, able, step_budget)]
    seeds = [set(cell.seeds) for cell in able]
    shared = set.intersection(*seeds) if seeds else set()
    return min(
        able,
        key=lambda cell: (
            -_success_of_seeds(cell, step_budget, shared),
            -len(cell.outcomes),
            cell.planning_seconds(step_budget),
        ),
        default=None,
    )


def _is_beaten(
    cell: ConfigResult, others: Iterable[ConfigResult], step_budget: int
) -> bool:
    """Return whether a cell with more seeds is as good on all that this one has."""
    own = set(cell.seeds)
    reached = _success_of_seeds(cell, step_budget, own)
    return any(
        own < set(other.seeds) and _success_of_seeds(other, step_budget, own) >= reached
        for other in others
    )


def _success_of_seeds(cell: ConfigResult, step_budget: int, seeds: set[int]) -> float:
    """Return the success within T of the runs with some seeds; of all without any."""
    counted = np.isin(cell.seeds, sorted(seeds)) if seeds else slice(None)
    return float(cell.solved(step_budget)[counted].mean())


def first_best_budget(cell: ConfigResult, step_budget: int) -> int:
    """Return the smallest T with the success that the cell has within ``step_budget``.

    Rounded up to whole action blocks.
    """
    best = cell.success(step_budget)
    first = int(np.argmax(cell.curve >= best))
    return min(step_budget, -(-max(first, 1) // ACTION_BLOCK) * ACTION_BLOCK)


@dataclass(frozen=True)
class Point:
    """One (h, H, T) of a front: success for seconds of planning an episode."""

    cell: ConfigResult
    step_budget: int
    success: float
    seconds: float


def front(cells: Sequence[ConfigResult]) -> list[Point]:
    """Return the points over (h, H, T) that no other one beats, by rising seconds.

    Only what succeeds at all. The paper's Sec. 6.1: not less success in less time.
    """
    points = [
        Point(cell, budget, cell.success(budget), cell.planning_seconds(budget))
        for cell in best_covered(cells)
        for budget in _budgets(cell)
        if cell.success(budget) > 0
    ]
    kept = non_dominated([p.success for p in points], [p.seconds for p in points])
    return [points[place] for place in kept]


def _budgets(cell: ConfigResult) -> list[int]:
    distance = cell.task.goal_distance
    wanted = {*PAPER_BUDGETS, 2 * distance, 4 * distance, cell.step_budget}
    return sorted(budget for budget in wanted if budget <= cell.step_budget)

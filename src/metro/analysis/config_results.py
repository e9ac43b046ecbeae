"""All runs of one method with one configuration on a task, and the best of several."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metro.analysis.episode_results import PHASES, PLANNING, EpisodeResult
from metro.analysis.statistics import (
    Interval,
    mean_and_std,
    non_dominated,
    success_curve,
    wilson,
)
from metro.analysis.task import RunConfig
from metro.errors import BenchmarkError
from metro.models.presets import ACTION_BLOCK
from metro.planners.methods.registry import method_names

PAPER_BUDGETS = (30, 50, 60, 90, 100, 120, 130, 150, 180, 200, 300)
"""Budgets T of the paper's Pareto fronts."""


@dataclass(frozen=True)
class ConfigResult(RunConfig):
    """Runs of a method with one configuration, by query, then planner seed."""

    runs: tuple[EpisodeResult, ...]
    notes: tuple[str, ...] = ()
    """What a reader has to know about the rows."""

    @property
    def method(self) -> str:
        """Label of the method."""
        return self.key.label

    @property
    def plans(self) -> bool:
        """Whether the method plans at all; seconds of the others mean nothing."""
        return self.key.name not in method_names(has_plans=False)

    @cached_property
    def step_budget(self) -> int:
        """T that every run was given; nothing is known beyond it."""
        # The smallest: success latches, so a longer run answers for a shorter T too.
        return min(run.step_budget for run in self.runs)

    @cached_property
    def frames(self) -> NDArray[np.float64]:
        """Frames to success ``[n]``, infinite where there was none."""
        # Infinity makes comparisons with any T come out right for failures.
        return np.array([np.inf if r.frames is None else r.frames for r in self.runs])

    @cached_property
    def is_trivial(self) -> NDArray[np.bool_]:
        """Which runs start where the goal is already met, ``[n]``."""
        return np.array([run.is_trivial for run in self.runs])

    @cached_property
    def demonstration(self) -> NDArray[np.float64]:
        """Frames the recording needs ``[n]``, nan where not recorded."""
        found = [run.demonstration for run in self.runs]
        return np.array([np.nan if value is None else value for value in found])

    @property
    def setting(self) -> tuple[int | None, int | None]:
        """(h, H), None for what the method does not have."""
        return (self.plan_blocks if self.plans else None), self.waypoint_budget

    @property
    def setting_text(self) -> str:
        """h, H and h_h as text, such as ``h = 1, H = 8``."""
        values = (*self.setting, self.macro_steps)
        named = zip(("h", "H", "h_h"), values, strict=True)
        return ", ".join(f"{name} = {v}" for name, v in named if v is not None)

    @property
    def name(self) -> str:
        """The method with its h, H and h_h."""
        return ", ".join(filter(None, (self.method, self.setting_text)))

    @cached_property
    def num_queries(self) -> int:
        """Number of queries, whatever the number of seeds."""
        return len({run.query for run in self.runs})

    @property
    def seeds(self) -> list[int]:
        """Planner seeds of the runs, ``[n]``."""
        return [run.seed for run in self.runs]

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

    def success(self, step_budget: int, seeds: Collection[int] | None = None) -> float:
        """Return the share of runs that succeed within T, of all or of some seeds."""
        solved = self.solved(step_budget)
        # No seeds means none in common: then all of them count.
        counted = solved if not seeds else solved[np.isin(self.seeds, list(seeds))]
        return float(counted.mean())

    @cached_property
    def seconds(self) -> dict[str, float]:
        """Mean seconds of an episode by phase, at the whole budget."""
        return {
            phase: float(np.mean([row.seconds[phase] for row in self.runs]))
            for phase in PHASES
        }

    def planning_seconds(self, step_budget: int) -> float:
        """Return mean seconds of planning in an episode that ends at ``step_budget``.

        The search is done once; the rest is taken in proportion to the frames acted,
        for runs are timed at their whole budget.
        """
        # Only whole runs are timed: a shorter T is charged by the frames it acts.
        used = np.minimum(self.frames, step_budget).mean()
        share = used / np.minimum(self.frames, self.step_budget).mean()
        rest = sum(self.seconds[phase] for phase in PLANNING if phase != "search")
        return float(self.seconds["search"] + share * rest)

    @property
    def macro_overhead(self) -> float | None:
        """(search + entry) / planning; None: nothing was planned, or nothing timed."""
        total = sum(self.seconds[phase] for phase in PLANNING)
        macro = self.seconds["search"] + self.seconds["entry"]
        return macro / total if self.plans and total > 0 else None

    @property
    def kinds(self) -> Counter[str]:
        """How often each kind of sub-goal occurred, over all runs."""
        return sum((Counter(row.kinds) for row in self.runs), Counter[str]())


@dataclass(frozen=True)
class MethodResult:
    """A method's success on a task within T = ``step_budget``."""

    label: str
    """The method, perhaps with how its h was chosen."""
    config: ConfigResult
    """The configuration that represents it."""
    step_budget: int

    @property
    def num_runs(self) -> int:
        """Queries x seeds."""
        return len(self.config.runs)

    @property
    def success(self) -> float:
        """Share of runs that succeed within T."""
        return self.config.success(self.step_budget)

    @property
    def seconds(self) -> float:
        """Mean seconds of planning in an episode that ends at T."""
        return self.config.planning_seconds(self.step_budget)

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval of the success."""
        return wilson(int(self.config.solved(self.step_budget).sum()), self.num_runs)

    @property
    def over_seeds(self) -> tuple[float, float | None]:
        """Mean and deviation over planner seeds."""
        return mean_and_std(self.config.solved(self.step_budget), self.config.seeds)

    @property
    def success_nontrivial(self) -> float | None:
        """Success on non-trivial starts; None: every start already meets the goal."""
        counted = ~self.config.is_trivial
        solved = self.config.solved(self.step_budget)
        return float(solved[counted].mean()) if counted.any() else None


def best_covered(configs: Sequence[ConfigResult]) -> list[ConfigResult]:
    """Return the configurations with the most queries, whatever the number of seeds."""
    most = max((config.num_queries for config in configs), default=0)
    return [config for config in configs if config.num_queries == most]


def best_config(
    configs: Iterable[ConfigResult], step_budget: int
) -> ConfigResult | None:
    """Return the configuration that represents a method within T; None: none can.

    The rule, in this order:

    1. Only configurations that were run for T, and of those only the best covered: a
       pilot of five queries must not win by luck.
    2. A configuration is dropped if another one has all its seeds and more, and is at
       least as good on its seeds: a lucky single seed must not win against three.
    3. Of the rest, the highest success on the seeds that all of them have (on all
       seeds, if none is shared); of equals the one with more runs, then the faster.
    """
    able = best_covered([one for one in configs if one.step_budget >= step_budget])
    # Dropping first matters: a loser with one seed must not narrow the seeds that the
    # others are compared on.
    kept = [
        one
        for one in able
        if not any(
            set(one.seeds) < set(other.seeds)
            and other.success(step_budget, one.seeds) >= one.success(step_budget)
            for other in able
        )
    ]
    shared = set[int].intersection(*(set(one.seeds) for one in kept)) if kept else set()
    return min(
        kept,
        key=lambda one: (
            -one.success(step_budget, shared),
            -len(one.runs),
            one.planning_seconds(step_budget),
        ),
        default=None,
    )


def first_best_budget(config: ConfigResult, step_budget: int) -> int:
    """Return the smallest T with the success reached within ``step_budget``.

    Rounded up to whole action blocks.
    """
    best = config.success(step_budget)
    # The curve never falls, so the first such T is the smallest.
    first = int(np.argmax(config.curve >= best))
    # Plans act in whole blocks; T itself need not be a multiple.
    return min(step_budget, -(-max(first, 1) // ACTION_BLOCK) * ACTION_BLOCK)


def at_budgets(config: ConfigResult, budgets: Iterable[int]) -> list[MethodResult]:
    """Return a configuration at every T that it was run for, by rising T."""
    return [
        MethodResult(config.method, config, t)
        # The lists overlap: 2 d is often one of the paper's budgets.
        for t in sorted(set(budgets))
        if t <= config.step_budget
    ]


def pareto_front(configs: Sequence[ConfigResult]) -> list[MethodResult]:
    """Return the (h, H, T) that no other one beats, by rising seconds.

    Only those with any success, as in the paper's Sec. 6.1.
    """
    points = [
        point
        # Few queries would win a place on the front by luck.
        for config in best_covered(configs)
        for point in at_budgets(
            config,
            (*PAPER_BUDGETS, *config.task.usual_budgets, config.step_budget),
        )
        if point.success > 0
    ]
    kept = non_dominated([p.success for p in points], [p.seconds for p in points])
    return [points[place] for place in kept]

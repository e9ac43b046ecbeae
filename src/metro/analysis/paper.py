"""What the paper reports, as data: ``benchmarks/paper.toml`` and its Pareto fronts."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from metro.benchmark import (
    PAPER_FILE,
    Benchmark,
    benchmark_names,
    benchmarks_folder,
    load_benchmark,
)
from metro.errors import BenchmarkError
from metro.planners.methods.flat import FLAT
from metro.planners.methods.metro import METRO

_LETTERS = {
    "d": "goal_distance",
    "h": "plan_blocks",
    "H": "waypoint_budget",
    "T": "step_budget",
}
"""The file's letters, and our names; all others are the same."""
# The setting of LeWM's own paper.
_FLAT_DISTANCE, _FLAT_BUDGET = 25, 50


@dataclass(frozen=True)
class PaperResult:
    """One number of the paper, or one (h, H, T) that it lists without a number.

    Success (mean, and deviation over seeds) is in percent. None: not given.
    """

    benchmark: str
    family: str
    method: str
    goal_distance: int
    step_budget: int
    source: str
    plan_blocks: int | None = None
    waypoint_budget: int | None = None
    mean: float | None = None
    std: float | None = None
    arrival_ratio: float | None = None


@cache
def load_paper_results() -> tuple[PaperResult, ...]:
    """Return the paper's results by benchmark and family, metro first, by d and T."""
    reported = read_paper_results(benchmarks_folder() / PAPER_FILE)
    known = {_place(one) for one in reported}
    benchmarks = [load_benchmark(name) for name in benchmark_names()]
    flat = [one for benchmark in benchmarks for one in _flat_results(benchmark)]
    listed = [one for benchmark in benchmarks for one in _front_settings(benchmark)]
    # A setting with a number is in both lists; the one with the number is kept.
    new = [one for one in listed if _place(one) not in known]
    return tuple(sorted(reported + flat + new, key=_order))


def paper_table(name: str) -> list[dict[str, Any]]:
    """Return one of the lists of ``benchmarks/paper.toml``."""
    file = benchmarks_folder() / PAPER_FILE
    try:
        return list(tomllib.loads(file.read_text("utf-8"))[name])
    except (OSError, KeyError, ValueError) as error:
        raise BenchmarkError(f"{file} cannot be read: {error}.") from error


def read_paper_results(file: Path) -> list[PaperResult]:
    """Return the results in a TOML file."""
    try:
        cells = tomllib.loads(file.read_text("utf-8"))["cells"]
        return [
            PaperResult(**{_LETTERS.get(key, key): value for key, value in one.items()})
            for one in cells
        ]
    except (OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise BenchmarkError(
            f"{file} cannot be read: {error}. A result has benchmark, family, method, "
            f"d, h, H, T, mean, std, arrival_ratio and source."
        ) from error


def _flat_results(benchmark: Benchmark) -> Iterator[PaperResult]:
    """Yield the flat success that LeWM's own paper reports."""
    for family, success in benchmark.paper["flat_success"].items():
        yield PaperResult(
            benchmark=benchmark.name,
            family=family,
            method=FLAT.name,
            goal_distance=_FLAT_DISTANCE,
            step_budget=_FLAT_BUDGET,
            source="LeWM paper",
            plan_blocks=_FLAT_DISTANCE // benchmark.action_block,
            mean=float(success),
        )


def _front_settings(benchmark: Benchmark) -> Iterator[PaperResult]:
    """Yield the (h, H, T) of the fronts, listed in the paper without success."""
    for family, distances in benchmark.paper["cells"].items():
        for distance, settings in distances.items():
            for blocks, budget, steps in settings:
                yield PaperResult(
                    benchmark=benchmark.name,
                    family=family,
                    method=METRO.name,
                    goal_distance=int(distance),
                    step_budget=steps,
                    source="cell list",
                    plan_blocks=blocks,
                    waypoint_budget=budget,
                )


def _place(one: PaperResult) -> tuple[Any, ...]:
    where = (one.benchmark, one.family, one.method, one.goal_distance)
    return (*where, one.plan_blocks, one.waypoint_budget, one.step_budget)


def _order(one: PaperResult) -> tuple[Any, ...]:
    where = (one.benchmark, one.family, one.method != METRO.name, one.method)
    setting = (one.goal_distance, one.step_budget, one.plan_blocks or 0)
    return (*where, *setting, one.waypoint_budget or 0, one.source)

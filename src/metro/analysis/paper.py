"""What the paper reports, as data: ``benchmarks/paper.toml`` and the fronts' cells."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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

_NAMES = {
    "benchmark": "benchmark",
    "family": "family",
    "method": "method",
    "d": "goal_distance",
    "h": "plan_blocks",
    "H": "waypoint_budget",
    "T": "step_budget",
    "mean": "mean",
    "std": "std",
    "arrival_ratio": "arrival_ratio",
    "source": "source",
}
"""The file's short names, and ours."""
_FLAT_DISTANCE, _FLAT_BUDGET = 25, 50


@dataclass(frozen=True)
class PaperResult:
    """One figure of the paper, or one cell (h, H, T) that it names without a figure.

    Attributes:
        benchmark: Such as ``tworoom``.
        family: ``lewm`` or ``pldm``.
        method: Such as ``metro``.
        goal_distance: d, frames.
        step_budget: T, environment steps.
        source: Where in the paper.
        plan_blocks: h; None: not told.
        waypoint_budget: H; None: not told, or no graph.
        mean: Success in percent; None: only drawn in a figure.
        std: Its deviation over seeds, percent; None: not told.
        arrival_ratio: None: not told.
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


def load_paper_cells() -> list[PaperResult]:
    """Return the paper's cells by benchmark and family, metro's first, by d and T."""
    told = read_paper_cells(benchmarks_folder() / PAPER_FILE)
    known = {_place(cell) for cell in told}
    benchmarks = [load_benchmark(name) for name in benchmark_names()]
    flat = [cell for benchmark in benchmarks for cell in _flat_cells(benchmark)]
    listed = [cell for benchmark in benchmarks for cell in _front_cells(benchmark)]
    new = [cell for cell in listed if _place(cell) not in known]
    return sorted(told + flat + new, key=_order)


def read_paper_cells(file: Path) -> list[PaperResult]:
    """Return the cells of a TOML file."""
    try:
        cells = tomllib.loads(file.read_text("utf-8"))["cells"]
        return [_read(cell) for cell in cells]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise BenchmarkError(
            f"{file} cannot be read: {error}. A cell has {', '.join(_NAMES)}."
        ) from error


def _read(cell: Mapping[str, Any]) -> PaperResult:
    return PaperResult(**{_NAMES[key]: value for key, value in cell.items()})


def _flat_cells(benchmark: Benchmark) -> Iterator[PaperResult]:
    """Yield the flat success that LeWM's own paper tells."""
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


def _front_cells(benchmark: Benchmark) -> Iterator[PaperResult]:
    """Yield the cells of the fronts, which the paper lists without their success."""
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


def _place(cell: PaperResult) -> tuple[Any, ...]:
    where = (cell.benchmark, cell.family, cell.method, cell.goal_distance)
    return (*where, cell.plan_blocks, cell.waypoint_budget, cell.step_budget)


def _order(cell: PaperResult) -> tuple[Any, ...]:
    where = (cell.benchmark, cell.family, cell.method != METRO.name, cell.method)
    setting = (cell.goal_distance, cell.step_budget, cell.plan_blocks or 0)
    return (*where, *setting, cell.waypoint_budget or 0, cell.source)

"""Grids of h and H, and which of their cells are worth keeping."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metro.analysis.episode_results import PLANNING
from metro.errors import BenchmarkError
from metro.evaluation.records import Setting
from metro.planners.methods.metro import METRO
from metro.planners.methods.registry import find_method

_BLOCK = 5
"""Frames of one action block: H is swept around the frames of a micro plan."""

_MULTIPLES = (1, 1.2, 2, 4)
"""Budgets that success is read off at, in goal distances, beside the one asked for."""


COLUMNS = ("T", "h", "H", "success", "seconds a query", "rows", "")


@dataclass(frozen=True)
class GridCell:
    """What one (h, H, T) reached.

    Attributes:
        plan_blocks: h.
        waypoint_budget: H; None for methods without a graph.
        step_budget: T, read off a run with a larger one.
        success: Share of rows that met their goal within T.
        seconds: Planning time a query, of the whole run.
        rows: Queries times seeds.
        is_best: Whether no other cell has more success in as little time, for any T.
    """

    plan_blocks: int
    waypoint_budget: int | None
    step_budget: int
    success: float
    seconds: float
    rows: int
    is_best: bool = False

    def to_text(self) -> list[str]:
        """Return what a table shows under `COLUMNS`."""
        return [
            str(self.step_budget),
            str(self.plan_blocks),
            "-" if self.waypoint_budget is None else str(self.waypoint_budget),
            f"{self.success:.1%}",
            f"{self.seconds:.3f}",
            str(self.rows),
            "*" if self.is_best else "",
        ]


def grid(
    plan_blocks: str,
    waypoint_budgets: str | None,
    *,
    step_budget: int,
    planner_seeds: Sequence[int],
    method: str = METRO.name,
) -> list[Setting]:
    """Return the settings of a grid.

    Without H given it is swept from 5 h - 5 to 5 h + 5, at least 1, as in the paper
    (Sec. "Hyperparameters"). Methods without a graph have no H.
    """
    settings = []
    for blocks in parse_numbers(plan_blocks):
        settings += [
            Setting(method, blocks, budget, step_budget, seed)
            for budget in _budgets(method, blocks, waypoint_budgets)
            for seed in planner_seeds
        ]
    return settings


def _budgets(method: str, plan_blocks: int, chosen: str | None) -> Sequence[int | None]:
    if chosen is not None:
        return parse_numbers(chosen)
    if not find_method(method).needs_graph:
        return [None]
    middle = _BLOCK * plan_blocks
    return range(max(1, middle - _BLOCK), middle + _BLOCK + 1)


def parse_numbers(text: str) -> list[int]:
    """Return the numbers of a list such as ``1,3-5``: 1, 3, 4, 5."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise BenchmarkError(
                f"A list of numbers looks like 1,3-5, got {text!r} at {part!r}."
            )
        numbers += range(int(first), int(last or first) + 1)
    if not numbers or min(numbers) < 1:
        raise BenchmarkError(f"The numbers must be at least 1, got {text!r}.")
    return numbers


def best_cells(rows: Iterable[Mapping[str, Any]], goal_distance: int) -> list[GridCell]:
    """Return all cells of a sweep by T and success; the non-dominated are marked.

    A cell is dominated if another has at least its success in no more time, and one of
    both is better.
    """
    groups: dict[tuple[int, int | None], list[Mapping[str, Any]]] = {}
    for row in rows:
        setting = row["setting"]
        key = setting["plan_blocks"], setting["waypoint_budget"]
        groups.setdefault(key, []).append(row)
    budgets = [round(multiple * goal_distance) for multiple in _MULTIPLES]
    cells = []
    for key, group in groups.items():
        asked = min(row["setting"]["step_budget"] for row in group)
        told = sorted({*(budget for budget in budgets if budget <= asked), asked})
        cells += [_cell(*key, budget, group) for budget in told]
    marked = [
        GridCell(**{**vars(cell), "is_best": not _is_dominated(cell, cells)})
        for cell in cells
    ]
    return sorted(marked, key=lambda c: (c.step_budget, -c.success, c.seconds))


def _cell(
    blocks: int, waypoints: int | None, budget: int, rows: list[Mapping[str, Any]]
) -> GridCell:
    met = [
        row["frames_to_success"] is not None and row["frames_to_success"] <= budget
        for row in rows
    ]
    spent = {
        phase: sum(row["seconds"].get(phase, 0) for row in rows) for phase in PLANNING
    }
    # The search is paid once. Of the rest, only what was acted up to T is this cell's.
    share = sum(min(budget, _frames(row)) for row in rows) / sum(map(_frames, rows))
    search = spent.pop("search")
    seconds = (search + share * sum(spent.values())) / len(rows)
    return GridCell(blocks, waypoints, budget, sum(met) / len(met), seconds, len(rows))


def _frames(row: Mapping[str, Any]) -> int:
    """Return how many frames a run lasted."""
    frames: int = row["frames_to_success"] or row["setting"]["step_budget"]
    return frames


def _is_dominated(cell: GridCell, others: Iterable[GridCell]) -> bool:
    return any(
        other.success >= cell.success
        and other.seconds <= cell.seconds
        and (other.success, -other.seconds) != (cell.success, -cell.seconds)
        for other in others
    )

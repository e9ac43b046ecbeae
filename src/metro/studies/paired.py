"""Metro against one other method of the evaluation: re-entry, and the oracle."""

from collections.abc import Iterable, Sequence

from metro.analysis.comparison import METRO, MethodResult, by_task, paper_of
from metro.analysis.config_results import ConfigResult, best_cell
from metro.analysis.episode_results import Task
from metro.analysis.formatting import NOT_RUN, paper_percent
from metro.analysis.grouping import make_cells
from metro.analysis.paper import PaperResult, load_paper_cells
from metro.report.document import Block, Table, Text
from metro.report.study import Row, Section, Study
from metro.report.tables import arrival_of, paper_figure
from metro.studies.common import (
    NONE,
    PAIR_HEADER,
    PairedResults,
    commits_of,
    notes_of,
    pair_up,
)

_PAIRED = (
    "Both methods on the same queries and seeds, within the longest T that both had "
    "and within the paper's. The interval of the difference draws queries with "
    "all their seeds; p is McNemar's exact test. The paper's cells are those of "
    "its models, h, H and T. "
)
_ARRIVAL = (
    "Arrival: the median, over successes, of frames to success over the recording's "
    "own; starts that already meet the goal are left out. Below 1: sooner than the "
    "recording. Where metro was run with several H, the best is told."
)


def find_pairs(
    cells: Sequence[ConfigResult], method: str, paper: Sequence[PaperResult]
) -> list[PairedResults]:
    """Return metro beside every cell of a method, on the same task and h.

    Within the longest T that both had, and within the paper's if that is shorter.

    The committed ablation has metro's own H and graph; a method without a graph is
    compared with metro's best H.
    """
    found = []
    for some in by_task(cells).values():
        for other in (cell for cell in some if cell.method == method):
            alike = [cell for cell in some if _is_like(cell, other)]
            longest = max((cell.step_budget for cell in alike), default=0)
            for budget in _budgets(other, min(longest, other.step_budget), paper):
                chosen = best_cell(alike, budget)
                pair = None if chosen is None else pair_up(chosen, other, budget)
                if pair is not None:
                    found.append(pair)
    return found


def _budgets(
    cell: ConfigResult, longest: int, paper: Sequence[PaperResult]
) -> list[int]:
    told = paper_of(cell.task, cell.method, longest, paper)
    return sorted({longest, *(min(one.step_budget, longest) for one in told)})


def render_re_entry(rows: Sequence[Row]) -> Section:
    """Return metro with and without re-entry. Paper: Sec. 6.3."""
    return Section(tuple(_blocks(rows, "committed", _PAIRED, with_arrivals=False)))


def render_oracle(rows: Sequence[Row]) -> Section:
    """Return metro beside the query's own recording. Paper: Sec. 6.3."""
    return Section(tuple(_blocks(rows, "oracle", _PAIRED + _ARRIVAL)))


def _blocks(
    rows: Sequence[Row], method: str, reading: str, *, with_arrivals: bool = True
) -> Iterable[Block]:
    paper = load_paper_cells()
    pairs = find_pairs(make_cells(rows), method, paper)
    lines = [_line(pair, method, paper, with_arrivals) for pair in pairs]
    known = {_place(pair.second.cell.task) for pair in pairs}
    lines += [
        _missing(cell, paper, with_arrivals)
        for cell in paper
        if cell.method == method
        and (cell.benchmark, cell.family, cell.goal_distance) not in known
    ]
    header = ("benchmark", "model", "d", "h", "H", "T", METRO, method, *PAIR_HEADER)
    arrivals = (f"arrival, {METRO}", f"arrival, {method}") if with_arrivals else ()
    told = ("paper's arrivals",) if with_arrivals else ()
    header = (*header, *arrivals, f"paper, {METRO}", f"paper, {method}", *told)
    yield Text(reading.strip())
    yield Table(header, tuple(lines), _source(rows, method))
    yield from notes_of(line.cell for pair in pairs for line in _both(pair))


def _line(
    pair: PairedResults, method: str, paper: Sequence[PaperResult], with_arrivals: bool
) -> tuple[str, ...]:
    first, second = _both(pair)
    task, budget = first.cell.task, first.step_budget
    setting = (task.goal_distance, *first.cell.setting, budget)
    arrivals = [_ratio(arrival_of(line)) for line in (first, second)]
    theirs = [
        cell.arrival_ratio
        for name in (METRO, method)
        for cell in paper_of(task, name, budget, paper)[:1]
    ]
    told = (" and ".join(map(_ratio, theirs)) or NONE,) if with_arrivals else ()
    return (
        task.benchmark,
        task.model,
        *map(str, setting),
        *pair.texts,
        *(arrivals if with_arrivals else ()),
        paper_figure(task, METRO, budget, paper),
        paper_figure(task, method, budget, paper),
        *told,
    )


def _missing(
    cell: PaperResult, paper: Sequence[PaperResult], with_arrivals: bool
) -> tuple[str, ...]:
    """Return the line of a cell of the paper that we have nothing for."""
    place = (cell.benchmark, cell.family, cell.goal_distance, cell.step_budget)
    metro = next(
        c
        for c in paper
        if c.method == METRO
        and (c.benchmark, c.family, c.goal_distance, c.step_budget) == place
        and c.mean is not None
    )
    setting = (cell.goal_distance, cell.plan_blocks, metro.waypoint_budget)
    ratios = " and ".join(_ratio(c.arrival_ratio) for c in (metro, cell))
    return (
        cell.benchmark,
        cell.family,
        *map(str, setting),
        str(cell.step_budget),
        NOT_RUN,
        NOT_RUN,
        *[NONE] * (len(PAIR_HEADER) + 2 * with_arrivals),
        paper_percent(metro),
        paper_percent(cell),
        *((ratios,) if with_arrivals else ()),
    )


def _is_like(cell: ConfigResult, other: ConfigResult) -> bool:
    """Return whether a cell is metro's with the same h, and H if the other has one."""
    if cell.method != METRO or cell.plan_blocks != other.plan_blocks:
        return False
    graph = (cell.waypoint_budget, cell.graph)
    return other.graph is None or graph == (other.waypoint_budget, other.graph)


def _both(pair: PairedResults) -> tuple[MethodResult, MethodResult]:
    return pair.first, pair.second


def _place(task: Task) -> tuple[str, str, int]:
    return task.benchmark, task.family, task.goal_distance


def _ratio(ratio: float | None) -> str:
    return NONE if ratio is None else f"{ratio:.2f}"


def _source(rows: Sequence[Row], method: str) -> str:
    used = [row for row in rows if row["setting"]["method"] in (METRO, method)]
    return f"Success in percent, mean ± std over planner seeds; {commits_of(used)}."


RE_ENTRY = Study(
    name="re-entry",
    title="Re-entry",
    question="What is lost if the route is solved once and followed to its end?",
    command="metro study re-entry results",
    render=render_re_entry,
    reads_evaluation=True,
)
ORACLE = Study(
    name="oracle",
    title="Oracle and arrival",
    question=(
        "Are retrieved sub-goals as good as those of the query's own recording, and do "
        "they get there sooner?"
    ),
    command="metro study oracle results",
    render=render_oracle,
    reads_evaluation=True,
)

"""Metro against one other method: the same without re-entry, and the oracle."""

from collections.abc import Sequence
from dataclasses import dataclass

from metro.analysis.comparison import METRO, Difference, by_task, paper_of
from metro.analysis.config_results import ConfigResult, best_config
from metro.analysis.formatting import NOT_RUN, NOTHING, number, plus_minus
from metro.analysis.grouping import group_rows
from metro.analysis.paper import PaperResult, load_paper_results
from metro.evaluation.records import Record
from metro.planners.methods import oracle
from metro.planners.methods.committed import COMMITTED
from metro.report.document import Table, Text
from metro.report.study import Section, Study
from metro.report.tables import PAIR_HEADER, arrival_of, paper_text
from metro.studies.common import (
    commits_of,
    notes_of,
    pair_line,
    pair_up,
)

_PAIRED = (
    "Both methods on the same queries and seeds, within the longest T that both had "
    "and within the paper's. The interval of the difference draws queries with "
    "all their seeds; p is McNemar's exact test. The paper's results are those of "
    "its models, h, H and T."
)
_ARRIVAL = (
    " Arrival: the median, over successes, of frames to success over the recording's "
    "own; starts that already meet the goal are left out. Below 1: sooner than the "
    "recording. Where metro was run with several H, the best is shown."
)


@dataclass(frozen=True)
class _Comparison:
    """One method beside metro and the paper's results; perhaps with arrivals."""

    method: str
    with_arrivals: bool

    @property
    def header(self) -> tuple[str, ...]:
        """Return the header of the table."""
        names, setting = (METRO, self.method), ("d", "h", "H", "T")
        return (
            *("benchmark", "model", *setting, *names, *PAIR_HEADER),
            *self._arrivals(*(f"arrival, {name}" for name in names)),
            *(f"paper, {name}" for name in names),
            *self._arrivals("paper's arrivals"),
        )

    def line(self, pair: Difference) -> tuple[str, ...]:
        """Return the line of a pair of ours."""
        task, budget = pair.first.config.task, pair.first.step_budget
        setting = (task.goal_distance, *pair.first.config.setting, budget)
        theirs = [
            result.arrival_ratio
            for name in (METRO, self.method)
            # The same T comes first; at another T arrivals are others too.
            for result in paper_of(task, name, budget)[:1]
        ]
        return (
            *(task.benchmark, task.model, *map(str, setting), *pair_line(pair)),
            *self._arrivals(*(_ratio(arrival_of(line)) for line in pair.both)),
            paper_text(task, METRO, budget),
            paper_text(task, self.method, budget),
            *self._arrivals(" and ".join(map(_ratio, theirs)) or NOTHING),
        )

    def missing_lines(self, pairs: Sequence[Difference]) -> list[tuple[str, ...]]:
        """Return a line for each of the paper's results that we have no pair of."""
        tasks = [pair.second.config.task for pair in pairs]
        known = {(task.benchmark, task.family, task.goal_distance) for task in tasks}
        return [
            self._missing_line(result)
            for result in load_paper_results()
            # T is left out: a task that we ran for any T is not missing.
            if result.method == self.method and _place(result)[:3] not in known
        ]

    def _missing_line(self, other: PaperResult) -> tuple[str, ...]:
        # The paper lists some settings without a number, which cannot stand beside one.
        metro = next(
            result
            for result in load_paper_results()
            if result.method == METRO
            and _place(result) == _place(other)
            and result.mean is not None
        )
        setting = (other.goal_distance, other.plan_blocks, metro.waypoint_budget)
        both = (metro, other)
        ratios = " and ".join(_ratio(result.arrival_ratio) for result in both)
        return (
            *(other.benchmark, other.family, *map(str, setting)),
            *(str(other.step_budget), NOT_RUN, NOT_RUN),
            *[NOTHING] * len(PAIR_HEADER),
            *self._arrivals(NOTHING, NOTHING),
            *(plus_minus(result.mean, result.std) for result in both),
            *self._arrivals(ratios),
        )

    def _arrivals(self, *texts: str) -> tuple[str, ...]:
        return texts if self.with_arrivals else ()


def find_pairs(results: Sequence[ConfigResult], method: str) -> list[Difference]:
    """Return metro beside every result of a method, on the same task and h.

    Within the longest T that both had, and within the paper's if that is shorter. The
    ablation without re-entry has metro's own H and graph; a method without a graph is
    compared with metro's best H.
    """
    found = []
    for some in by_task(results).values():
        for other in (result for result in some if result.method == method):
            alike = [result for result in some if _is_alike(result, other)]
            # The longest of any H: `best_config` drops those that were run for less.
            longest = max((result.step_budget for result in alike), default=0)
            longest = min(longest, other.step_budget)
            theirs = [one.step_budget for one in paper_of(other.task, method, longest)]
            # A set, for the paper's T is often our longest one.
            for budget in sorted({min(one, longest) for one in (longest, *theirs)}):
                chosen = best_config(alike, budget)
                if chosen and (pair := pair_up(chosen, other, budget)):
                    found.append(pair)
    return found


def _is_alike(result: ConfigResult, other: ConfigResult) -> bool:
    """Return whether a result is metro's with the other's h, and H if it has one."""
    if result.method != METRO or result.plan_blocks != other.plan_blocks:
        return False
    graph = (result.waypoint_budget, result.graph)
    return other.graph is None or graph == (other.waypoint_budget, other.graph)


def render_re_entry(rows: Sequence[Record]) -> Section:
    """Return metro with and without re-entry. Paper: Sec. 6.3."""
    return _render(rows, _Comparison(COMMITTED.name, with_arrivals=False), _PAIRED)


def render_oracle(rows: Sequence[Record]) -> Section:
    """Return metro beside the query's own recording. Paper: Sec. 6.3."""
    compared = _Comparison(oracle.ORACLE.name, with_arrivals=True)
    return _render(rows, compared, _PAIRED + _ARRIVAL)


def _render(rows: Sequence[Record], compared: _Comparison, reading: str) -> Section:
    pairs = find_pairs(group_rows(rows), compared.method)
    lines = [*map(compared.line, pairs), *compared.missing_lines(pairs)]
    # Other methods share these files; their commits are no concern of this table.
    names = (METRO, compared.method)
    used = [row for row in rows if row["setting"]["method"] in names]
    caption = f"Success in percent, mean ± std over planner seeds; {commits_of(used)}."
    table = Table(compared.header, tuple(lines), caption)
    notes = notes_of(line.config for pair in pairs for line in pair.both)
    return Section((Text(reading), table, *notes))


def _place(result: PaperResult) -> tuple[str, str, int, int]:
    where = (result.benchmark, result.family, result.goal_distance)
    return (*where, result.step_budget)


def _ratio(ratio: float | None) -> str:
    return number(ratio, ".2f")


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

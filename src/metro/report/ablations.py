"""Metro with parts left out: committed routes, the oracle, the clock."""

from collections.abc import Mapping, Sequence

from metro.analysis.comparison import (
    METRO,
    MethodResult,
    difference,
    lines_of,
    methods_of,
)
from metro.analysis.config_results import ConfigResult
from metro.analysis.episode_results import Task
from metro.planners.methods.committed import COMMITTED
from metro.planners.methods.oracle import ORACLE
from metro.planners.methods.time_indexed_oracle import TIME_INDEXED_ORACLE
from metro.report.document import Block, Table, Text

_LEFT_OUT = {
    COMMITTED.name: "no re-entry: the first route is followed to its end",
    ORACLE.name: "no graph: sub-goals from the query's own recording",
    TIME_INDEXED_ORACLE.name: "no choice: the recording's own frames, by the clock",
}
_HEADER = (
    *("benchmark", "model", "recordings", "d", "T", "instead", "metro", "success"),
    *("metro − it", "pairs"),
)


def ablations(tasks: Mapping[Task, Sequence[ConfigResult]]) -> list[Block]:
    """Return metro against its own parts, on the runs that both have."""
    rows = [row for task, cells in tasks.items() for row in _rows(task, cells)]
    told = [f"{name} ({what})" for name, what in _LEFT_OUT.items()]
    said = Text(
        f"What metro gains over {', '.join(told)}. Success in percent [95 %]; the "
        f"difference is of pairs, its interval a bootstrap over queries."
    )
    if not rows:
        return [said, Text(f"Not run: {', '.join(_LEFT_OUT)}, beside metro.")]
    runs = [row for cells in tasks.values() for cell in cells for row in cell.outcomes]
    seeds = ", ".join(map(str, sorted({row.seed for row in runs})))
    caption = (
        f"Planner seeds {seeds}, as far as both were run; query files and commits are "
        f"named in the sections."
    )
    return [said, Table(_HEADER, tuple(rows), caption)]


def _rows(task: Task, cells: Sequence[ConfigResult]) -> list[tuple[str, ...]]:
    found = {label: lines_of(label, some) for label, some in methods_of(cells).items()}
    metro = {line.step_budget: line for line in found[METRO] if line.label == METRO}
    rows: list[tuple[str, ...]] = []
    for name in _LEFT_OUT:
        for line in found.get(name, []):
            other = metro.get(line.step_budget)
            pair = difference(other, line) if other else None
            if other is None or pair is None:
                continue
            low, high = (f"{100 * end:+.0f}" for end in pair.interval)
            rows.append(
                (
                    *(task.benchmark, task.model, task.recordings),
                    str(task.goal_distance),
                    *(str(line.step_budget), name, _share(other), _share(line)),
                    f"{100 * pair.gain:+.1f} [{low}, {high}]",
                    str(pair.num_pairs),
                )
            )
    return rows


def _share(line: MethodResult) -> str:
    low, high = (f"{100 * end:.0f}" for end in line.interval)
    return f"{100 * line.success:.1f} [{low}, {high}], n = {line.num_runs}"

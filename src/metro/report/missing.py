"""What the protocol asks for and the rows do not have."""

from collections import Counter
from collections.abc import Mapping, Sequence

from metro.analysis.config_results import ConfigResult
from metro.analysis.episode_results import Task
from metro.benchmark import benchmark_names
from metro.planners.methods.committed import COMMITTED
from metro.planners.methods.flat import FLAT
from metro.planners.methods.metro import METRO
from metro.planners.methods.oracle import ORACLE
from metro.planners.methods.random import RANDOM
from metro.planners.methods.registry import method_names
from metro.report.document import Block, Table, Text

FULL_RUNS = 150
"""Runs of a method on a task: 50 queries x 3 planner seeds."""
_DISTANCES = (25, 50, 75)
_ABLATED = (METRO.name, FLAT.name, ORACLE.name, COMMITTED.name)
_METHODS = {
    "lewm": (
        *_ABLATED,
        *method_names(needs_macro=True),
        RANDOM.name,
    ),
    "pldm": _ABLATED,
}
_COMPLETE = f"Nothing: every method has {FULL_RUNS} runs or more on every task."
_HEADER = ("task", "not run", f"fewer than {FULL_RUNS} runs")


def missing(tasks: Mapping[Task, Sequence[ConfigResult]]) -> Block:
    """Return a table of the tasks whose rows are not complete.

    The fullest cell of a method counts, over all query files of a distance; of several
    corpora of a benchmark only the one with the most runs.
    """
    runs: dict[tuple[str, str, int, str], int] = {}
    sizes = Counter[tuple[str, str]]()
    for task, cells in tasks.items():
        told = sum(len(cell.outcomes) for cell in cells)
        sizes[task.benchmark, task.digests[1]] += told
    usual = {name: digest for (name, digest), _ in reversed(sizes.most_common())}
    for task, cells in tasks.items():
        if task.digests[1] != usual[task.benchmark]:
            continue
        for cell in cells:
            key = (task.benchmark, task.family, task.goal_distance, cell.method)
            runs[key] = max(runs.get(key, 0), len(cell.outcomes))
    lines = []
    for benchmark in benchmark_names():
        for family, methods in _METHODS.items():
            for distance in _DISTANCES:
                counts = {
                    method: runs.get((benchmark, family, distance, method), 0)
                    for method in methods
                }
                if min(counts.values()) < FULL_RUNS:
                    task_name = f"{benchmark}, {family}, d = {distance}"
                    lines.append((task_name, *_told(counts)))
    if not lines:
        return Text(_COMPLETE)
    return Table(
        _HEADER,
        tuple(lines),
        "Of the protocol: 50 queries x 3 planner seeds, fullest cell of a method.",
    )


def _told(counts: Mapping[str, int]) -> tuple[str, str]:
    absent = [method for method, number in counts.items() if number == 0]
    few = [
        f"{method} {number}"
        for method, number in counts.items()
        if 0 < number < FULL_RUNS
    ]
    return ", ".join(absent) or "-", ", ".join(few) or "-"

"""Tables over all tasks: metro and its rivals, metro without parts, what is missing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from metro.analysis.comparison import (
    FLAT,
    FLAT_BEST,
    FLAT_PAPER,
    METRO,
    by_task,
    difference,
    method_results,
    methods_of,
    paper_of,
    result_at,
)
from metro.analysis.config_results import ConfigResult, MethodResult, best_covered
from metro.analysis.formatting import NOT_RUN
from metro.analysis.grouping import group_rows
from metro.analysis.task import Task
from metro.benchmark import benchmark_names
from metro.planners.methods.committed import COMMITTED
from metro.planners.methods.oracle import ORACLE
from metro.planners.methods.random import RANDOM
from metro.planners.methods.registry import method_names
from metro.planners.methods.time_indexed_oracle import TIME_INDEXED_ORACLE
from metro.report.document import Block, Table, Text
from metro.report.tables import paper_text

Tasks = Mapping[Task, Sequence[ConfigResult]]

FULL_RUNS = 150
"""Runs of a method on a task: 50 queries x 3 planner seeds."""
_FEWEST_PAIRS = 10
"""With fewer pairs a bootstrap means nothing: no interval is printed."""
_LEFT_OUT = {
    COMMITTED.name: "no re-entry: the first route is followed to its end",
    ORACLE.name: "no graph: sub-goals from the query's own recording",
    TIME_INDEXED_ORACLE.name: "no choice: the recording's own frames, by the clock",
}
_DISTANCES = (25, 50, 75)
_HIERARCHICAL = method_names(needs_macro=True)
_ABLATED = (METRO, FLAT, ORACLE.name, COMMITTED.name)
_PROTOCOL = {
    "lewm": (*_ABLATED, *_HIERARCHICAL, RANDOM.name),
    "pldm": _ABLATED,
}
"""Methods that the paper's protocol asks for, by model family."""


def headline_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the success of every method on every task as plain values, for JSON."""
    return [
        _plain(result)
        for configs in by_task(group_rows(rows)).values()
        for label, some in methods_of(configs).items()
        for result in method_results(label, some)
    ]


def _plain(result: MethodResult) -> dict[str, Any]:
    task, config = result.config.task, result.config
    mean, std = result.over_seeds
    return {
        "benchmark": task.benchmark,
        "model": task.model,
        "family": task.family,
        "episodes": task.episodes,
        "goal_distance": task.goal_distance,
        "method": result.label,
        "plan_blocks": config.plan_blocks,
        "waypoint_budget": config.waypoint_budget,
        "step_budget": result.step_budget,
        "success": result.success,
        "interval": list(result.interval),
        "mean": mean,
        "std": std,
        "success_of_unsolved": result.success_nontrivial,
        "runs": result.num_runs,
        "seeds": sorted(set(config.seeds)),
        "queries": task.queries,
        "commits": sorted({run.commit for run in config.runs}),
        "paper": [
            {"step_budget": one.step_budget, "mean": one.mean, "std": one.std}
            for one in paper_of(task, result.label, result.step_budget)
        ],
    }


def overview(tasks: Tasks) -> Table:
    """Return success within 2 d, and metro's lead on the runs that both have."""
    header = ("benchmark", "model", "recordings", "d", METRO, FLAT_PAPER, FLAT_BEST,
              "hierarchical (best)", f"metro − {FLAT_BEST}", "metro − hierarchical",
              "paper's metro")  # fmt: skip
    rows = tuple(_overview_row(task, some) for task, some in tasks.items())
    caption = (
        f"Success within T = 2 d in percent [95 %], n = queries x seeds. Differences "
        f"are paired, without an interval below {_FEWEST_PAIRS} pairs. hierarchical: "
        f"the best of those with most runs. {_sources(tasks)}"
    )
    return Table(header, rows, caption)


def _overview_row(task: Task, configs: Sequence[ConfigResult]) -> tuple[str, ...]:
    methods, short = methods_of(configs), task.usual_budgets[0]
    results = {label: result_at(label, some, short) for label, some in methods.items()}
    metro, flat = results[METRO], results[FLAT_BEST]
    rivals = [r for name in _HIERARCHICAL if (r := results.get(name))]
    # Runs first: three queries that all succeed are not a better planner.
    rival = max(rivals, key=lambda one: (one.num_runs, one.success), default=None)
    return (
        *(task.benchmark, task.model, task.recordings, str(task.goal_distance)),
        success_text(metro),
        success_text(results[FLAT_PAPER]),
        success_text(flat) + _blocks_tried(flat, methods[FLAT_BEST]),
        NOT_RUN if rival is None else f"{rival.label}: {success_text(rival)}",
        *(_gain(metro, other) for other in (flat, rival)),
        paper_text(task, METRO, short),
    )


def success_text(result: MethodResult | None) -> str:
    """Return success in percent with its interval and n."""
    if result is None:
        return NOT_RUN
    low, high = (f"{100 * end:.0f}" for end in result.interval)
    return f"{100 * result.success:.1f} [{low}, {high}], n = {result.num_runs}"


def _blocks_tried(result: MethodResult | None, configs: Sequence[ConfigResult]) -> str:
    """Return which h won, and which were tried on as many queries."""
    if result is None:
        return ""
    # An h that was not run for this T could not win.
    able = [one for one in configs if one.step_budget >= result.step_budget]
    blocks = sorted({one.plan_blocks for one in best_covered(able)})
    return f", h = {result.config.plan_blocks} of {', '.join(map(str, blocks))}"


def _gain(metro: MethodResult | None, other: MethodResult | None) -> str:
    pair = difference(metro, other) if metro and other else None
    if pair is None:
        return NOT_RUN
    gain = f"{100 * pair.gain:+.1f}"
    if pair.num_pairs < _FEWEST_PAIRS:
        return f"{gain} ({pair.num_pairs} pairs)"
    low, high = (f"{100 * end:+.0f}" for end in pair.interval)
    return f"{gain} [{low}, {high}], {pair.num_pairs} pairs"


def ablations(tasks: Tasks) -> list[Block]:
    """Return metro against itself with a part left out, on the runs that both have."""
    rows = [
        (
            *(task.benchmark, task.model, task.recordings, str(task.goal_distance)),
            *(str(budget), name, success_text(metro), success_text(other)),
            _gain(metro, other),
        )
        for task, configs in tasks.items()
        for name, budget in product(_LEFT_OUT, task.usual_budgets)
        if (metro := result_at(METRO, methods_of(configs)[METRO], budget))
        and (other := result_at(name, methods_of(configs).get(name, []), budget))
    ]
    parts = "; ".join(f"{name}: {what}" for name, what in _LEFT_OUT.items())
    if not rows:
        return [Text(f"Not run beside metro. {parts}.")]
    header = ("benchmark", "model", "recordings", "d", "T", "instead", METRO,
              "success", "metro − it")  # fmt: skip
    caption = f"Success in percent [95 %]; differences are paired. {_sources(tasks)}"
    return [Text(f"{parts}."), Table(header, tuple(rows), caption)]


def _sources(tasks: Tasks) -> str:
    """Return seeds and commits of all runs; query files are named in the sections."""
    runs = [run for some in tasks.values() for one in some for run in one.runs]
    seeds = ", ".join(map(str, sorted({run.seed for run in runs})))
    commits = ", ".join(sorted({run.commit for run in runs}))
    return f"Planner seeds {seeds}; query files: see the sections; commit {commits}."


def missing(tasks: Tasks) -> Block:
    """Return the tasks of the protocol that have methods with too few runs.

    The configuration with the most runs counts, over all query files of a distance.
    """
    runs = _most_runs(tasks)
    rows = []
    for benchmark, (family, methods), distance in product(
        benchmark_names(), _PROTOCOL.items(), _DISTANCES
    ):
        counts = {m: runs.get((benchmark, family, distance, m), 0) for m in methods}
        absent = [method for method, count in counts.items() if count == 0]
        few = [f"{m} {count}" for m, count in counts.items() if 0 < count < FULL_RUNS]
        if absent or few:
            title = f"{benchmark}, {family}, d = {distance}"
            rows.append((title, ", ".join(absent) or "-", ", ".join(few) or "-"))
    if not rows:
        return Text(
            f"Nothing: every method has {FULL_RUNS} runs or more on every task."
        )
    header = ("task", NOT_RUN, f"fewer than {FULL_RUNS} runs")
    caption = "The protocol asks for 50 queries x 3 planner seeds per method and task."
    return Table(header, tuple(rows), caption)


def _most_runs(tasks: Tasks) -> dict[tuple[str, str, int, str], int]:
    """Return the most runs of each (benchmark, family, d, method).

    Of several corpora of a benchmark only the one with the most runs counts: a second
    corpus must not hide what the first one lacks.
    """
    sizes = Counter[tuple[str, str]]()
    for task, configs in tasks.items():
        sizes[task.benchmark, task.digests[1]] += sum(len(one.runs) for one in configs)
    # most_common is stable: of equal corpora the first task's is kept.
    largest: dict[str, str] = {}
    for (benchmark, corpus), _ in sizes.most_common():
        largest.setdefault(benchmark, corpus)
    found: dict[tuple[str, str, int, str], int] = {}
    for task, configs in tasks.items():
        if task.digests[1] == largest[task.benchmark]:
            for one in configs:
                key = (task.benchmark, task.family, task.goal_distance, one.method)
                found[key] = max(found.get(key, 0), len(one.runs))
    return found

"""Tables of the results pages that are computed from the rows of metro evaluate."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from metro.analysis.comparison import (
    FLAT_BEST,
    METRO,
    Difference,
    MethodResult,
    by_task,
    difference,
    method_results,
    methods_of,
    paper_of,
)
from metro.analysis.config_results import ConfigResult
from metro.analysis.episode_results import load_records
from metro.analysis.grouping import group_rows
from metro.report.document import Table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
MAIN = ("tworoom", "reacher", "cube-planned", "pusht-replayed")
"""One corpus per world, recorded in the same way as the released one."""
OTHERS = ("cube", "pusht", "pusht-18685")
WORLDS = {"tworoom": "TwoRoom", "reacher": "Reacher", "cube": "Cube", "pusht": "PushT"}
DISTANCES = (25, 50, 75, 100, 150)
FAR = 75
FULL = 150
"""Runs of 50 queries and three planner seeds; other counts are printed."""
NONE = "-"

Key = tuple[str, str, int]


@cache
def tasks() -> dict[Key, list[ConfigResult]]:
    """Return the results of every (recordings, model family, distance)."""
    found = by_task(group_rows(load_records([RESULTS])))
    return {
        (Path(task.corpus).stem, task.family, task.goal_distance): cells
        for task, cells in found.items()
    }


def at_budget(key: Key, label: str, budget: int | None = None) -> MethodResult | None:
    """Return a method's best result within T, or within 2 d."""
    lines = method_results(label, methods_of(tasks()[key]).get(label, []))
    wanted = budget or 2 * key[2]
    found = [line for line in lines if line.step_budget == wanted]
    return found[0] if found else None


def share(line: MethodResult | None, *, interval: bool = True) -> str:
    """Return a success in percent, its 95 % interval, and n if it is not 150."""
    if line is None:
        return NONE
    low, high = (f"{100 * end:.0f}" for end in line.interval)
    ends = f" [{low}, {high}]" if interval else ""
    few = "" if line.num_runs == FULL else f", n = {line.num_runs}"
    return f"{100 * line.success:.1f}{ends}{few}"


def source(keys: Iterable[Key], what: str, methods: Sequence[str]) -> str:
    """Return the line under a table: recordings, n, seeds, query files, commits."""
    rows = [
        row
        for key in keys
        for cell in tasks()[key]
        for row in cell.runs
        if cell.method in methods
    ]
    names = dict.fromkeys(Path(row.task.corpus).stem for row in rows)
    seeds = sorted({row.seed for row in rows})
    return (
        f"{what} Recordings {', '.join(names)}; n = {FULL} runs (50 queries x 3 "
        f"seeds) unless given; planner seeds {', '.join(map(str, seeds))}; queries "
        f"benchmarks/queries/RECORDINGS-dD.csv; rows results/RECORDINGS.jsonl.gz; "
        f"`metro report results` prints the command of every row; "
        f"{commits(row.commit for row in rows)}."
    )


def commits(found: Iterable[str]) -> str:
    """Return the commits of some rows, short."""
    known = sorted({commit[:7] for commit in found})
    return f"commit{'s' * (len(known) > 1)} {', '.join(known)}"


def success(recordings: Sequence[str], family: str = "lewm") -> Table:
    """Return metro beside flat, the oracle and no re-entry, within T = 2 d."""
    keys = [key for name in recordings for d in DISTANCES
            if (key := (name, family, d)) in tasks()]  # fmt: skip
    rows = []
    for key in keys:
        metro, flat = at_budget(key, METRO), at_budget(key, FLAT_BEST)
        pair = difference(metro, flat) if metro and flat else None
        told = paper_of(tasks()[key][0].task, METRO, 2 * key[2])[:1]
        rows.append(
            (
                key[0],
                str(key[2]),
                share(metro),
                share(flat) + (f", h = {flat.config.plan_blocks}" if flat else ""),
                gain(pair),
                share(at_budget(key, "committed"), interval=False),
                share(at_budget(key, "oracle"), interval=False),
                *([f"{c.mean:.1f} (T = {c.step_budget})" for c in told] or [NONE]),
            )
        )
    header = ("recordings", "d", "metro", "flat, best h", "metro − flat",
              "without re-entry", "oracle", "metro in the paper")  # fmt: skip
    what = (
        f"Success in percent [95 %] within T = 2 d, each method at its best (h, H); "
        f"{family} models."
    )
    methods = (METRO, "flat", "committed", "oracle")
    return Table(header, tuple(rows), source(keys, what, methods))


OURS = f"{METRO} (reach-recorded-memory)"
COPY = "action-copy (reach)"


def _with_ours() -> list[Key]:
    """Return where all three additions were run, the headline recordings first."""
    keys = [key for key in tasks() if key[1] == "lewm" and at_budget(key, OURS)]
    return sorted(keys, key=lambda key: ((*MAIN, *OTHERS).index(key[0]), -key[2]))


def beyond() -> Table:
    """Return the paper's way beside reach, recorded actions and memory together."""
    keys, rows = _with_ours(), []
    for key in keys:
        paper, ours = at_budget(key, METRO), at_budget(key, OURS)
        # The same runs, had they ended after d frames.
        early = [line and MethodResult(line.label, line.config, key[2])
                 for line in (paper, ours)]  # fmt: skip
        rows.append(
            (
                *(key[0], str(key[2]), share(paper, interval=False), share(ours)),
                gain(difference(ours, paper) if paper else None),
                *(share(line, interval=False) for line in early),
                share(at_budget(key, "oracle"), interval=False),
            )
        )
    header = ("recordings", "d", "paper's way", "ours", "ours − paper's way",
              "paper's way within d", "ours within d", "oracle")  # fmt: skip
    what = (
        "Success in percent [95 %] within T = 2 d, and within T = d where it is said; "
        "lewm models."
    )
    return Table(header, tuple(rows), source(keys, what, (METRO, OURS, "oracle")))


def parts() -> Table:
    """Return what each addition is worth at d = 75, and action copy."""
    keys = [key for key in _with_ours() if key[2] == FAR]
    options = ("recorded", "reach", "reach-recorded")
    labels = (METRO, *(f"{METRO} ({option})" for option in options), OURS, COPY)
    rows = [
        (key[0], *(share(at_budget(key, label), interval=False) for label in labels))
        for key in keys
    ]
    header = ("recordings", "paper's way", "recorded actions", "reach", "both",
              "both and memory", "action copy")  # fmt: skip
    what = "Success in percent, d = 75, T = 150; lewm models."
    return Table(header, tuple(rows), source(keys, what, labels))


def gain(pair: Difference | None) -> str:
    """Return a paired difference in points with its 95 % interval."""
    if pair is None:
        return NONE
    low, high = (f"{100 * end:+.0f}" for end in pair.interval)
    return f"{100 * pair.gain:+.1f} [{low}, {high}]"


def readme() -> Table:
    """Return one row per world at d = 75."""
    keys = [(name, "lewm", FAR) for name in MAIN]
    rows = []
    for key in keys:
        task = tasks()[key][0].task
        told = paper_of(task, METRO, 2 * FAR)
        flat = at_budget(key, FLAT_BEST)
        rows.append(
            (
                f"{WORLDS[task.benchmark]} ({key[0]}, {task.episodes:,} episodes)",
                f"**{100 * at_budget(key, METRO).success:.0f} %**",
                f"{100 * flat.success:.0f} % (h = {flat.config.plan_blocks})",
                f"{100 * at_budget(key, 'oracle').success:.0f} %",
                f"{told[0].mean:.0f} % (T = {told[0].step_budget})",
            )
        )
    header = ("world (our recordings)", "metro", "flat CEM, best h", "oracle",
              "metro in the paper")  # fmt: skip
    what = (
        "Success on goals d = 75 frames away, within T = 150 steps; n = 150 runs (50 "
        "queries x planner seeds 7, 8, 9); small LeWM models of our own."
    )
    return Table(header, tuple(rows), what)


def by_plan_blocks() -> Table:
    """Return flat CEM with every h that was run at d = 75."""
    keys = [(name, "lewm", FAR) for name in (*MAIN, *OTHERS)]
    blocks = (1, 2, 5, 15)
    rows = []
    for key in keys:
        cells = {c.plan_blocks: c for c in tasks()[key] if c.method == "flat"}
        lines = [
            MethodResult(FLAT_BEST, cells[h], 2 * FAR) if h in cells else None
            for h in blocks
        ]
        rows.append((key[0], *map(share, lines), share(at_budget(key, METRO))))
    header = ("recordings", *(f"flat, h = {h}" for h in blocks), "metro")
    what = "Success in percent [95 %], d = 75, T = 150; lewm models."
    return Table(header, tuple(rows), source(keys, what, (METRO, "flat")))


def hierarchical() -> Table:
    """Return how many queries the hierarchical planners solve, and metro of the same."""
    names = ("hi-lewm", "hi-lewm-c", "hi-lewm-c-staged")
    keys = [(name, "lewm", d) for d in (50, FAR)
            for name in ("tworoom", "reacher", "cube", "pusht")]  # fmt: skip
    rows = []
    for key in keys:
        lines = [line for name in names if (line := at_budget(key, name))]
        asked = {run for line in lines for run in runs(line)}
        metro = runs(at_budget(key, METRO))
        same = [metro[run] for run in asked if run in metro]
        spent = [line.config.planning_seconds(line.step_budget) for line in lines]
        task = tasks()[key][0].task
        told = paper_of(task, names[1], 2 * key[2])[:1]
        ours = at_budget(key, METRO)
        rows.append(
            (
                key[0],
                str(key[2]),
                *(f"{sum(runs(x).values())} of {x.num_runs}" for x in lines),
                f"{sum(same)} of {len(same)}",
                f"{min(spent):.0f} to {max(spent):.0f}",
                f"{ours.config.planning_seconds(ours.step_budget):.1f}",
                *([f"{c.mean:.0f} %" for c in told] or [NONE]),
            )
        )
    header = ("recordings", "d", "Hi-LeWM", "Hi-LeWM-C", "staged", "metro, same runs",
              "their seconds", "metro's seconds", "Hi-LeWM-C in the paper")  # fmt: skip
    what = (
        "Runs solved within T = 2 d, best h_h; seconds of planning per run; few "
        "queries, planner seed 7, published budgets."
    )
    return Table(header, tuple(rows), source(keys, what, (METRO, *names)))


def runs(line: MethodResult) -> dict[tuple[object, int], bool]:
    """Return whether each (query, seed) was solved within T."""
    solved = line.config.solved(line.step_budget)
    pairs = zip(line.config.runs, solved, strict=True)
    return {(row.query, row.seed): bool(done) for row, done in pairs}


def overhead() -> Table:
    """Return the share of planning time that the macro planner takes."""
    names = (*MAIN, *OTHERS)
    rows = []
    for name in names:
        cells = [
            cell
            for key, some in tasks().items()
            for cell in some
            if key[0] == name and cell.method == METRO and cell.macro_overhead
        ]
        shares = [100 * cell.macro_overhead for cell in cells]
        macro = [1000 * (c.seconds["search"] + c.seconds["entry"]) for c in cells]
        total = [c.planning_seconds(c.step_budget) for c in cells]
        rows.append(
            (
                name,
                f"{min(shares):.1f} to {max(shares):.1f} %",
                f"{min(macro):.0f} to {max(macro):.0f}",
                f"{min(total):.2f} to {max(total):.1f}",
                str(len(cells)),
            )
        )
    header = ("recordings", "macro overhead", "milliseconds per run",
              "seconds of planning per run", "configurations")  # fmt: skip
    what = (
        "Search, entry and walk as a share of planning, least and most over all "
        "(model, d, h, H); the whole budget T of each run."
    )
    keys = [key for name in names for key in tasks() if key[0] == name]
    return Table(header, tuple(rows), source(keys, what, (METRO,)))

"""Tables of the details page: when, from where and with what settings metro succeeds."""

from pathlib import Path

import numpy as np
from result_tables import (
    FAR,
    MAIN,
    NONE,
    OTHERS,
    RESULTS,
    at_budget,
    commits,
    runs,
    share,
    source,
    tasks,
)
from study_tables import research

from metro.analysis.comparison import FLAT_BEST, METRO, MethodResult, paper_of
from metro.analysis.config_results import ConfigResult
from metro.analysis.episode_results import load_records
from metro.analysis.grouping import group_rows
from metro.report.document import Table
from metro.report.tables import arrival_of


def when_solved() -> Table:
    """Return metro's success within d, 2 d and 4 d, and how soon it arrives."""
    rows = []
    keys = [(name, "lewm", FAR) for name in (*MAIN, *OTHERS)]
    for key in keys:
        cell = at_budget(key, METRO).config
        longest = [k * FAR for k in (1, 2, 4) if k * FAR <= cell.step_budget]
        shares = [share(MethodResult(METRO, cell, t), interval=False) for t in longest]
        ratios = []
        for label in (METRO, "oracle"):
            told = paper_of(cell.task, label, 2 * FAR)
            ratios += [
                f"{arrival_of(at_budget(key, label)):.2f}",
                f"{told[0].arrival_ratio:.2f}",
            ]
        rows.append((key[0], *shares, *[NONE] * (3 - len(shares)), *ratios))
    header = ("recordings", "T = 75", "T = 150", "T = 300", "arrival of metro", "paper",
              "arrival of the oracle", "paper")  # fmt: skip
    what = (
        "Metro's success in percent within T, d = 75. Arrival: median over successes "
        "of frames to success / frames of the recording, T = 150, trivially solved "
        "starts left out."
    )
    return Table(header, tuple(rows), source(keys, what, (METRO, "oracle")))


def starts() -> Table:
    """Return the runs solved by where the cube lies at the start."""
    rows = []
    keys = [(name, "lewm", d) for name in ("cube-planned", "cube") for d in (25, FAR)]
    for key in keys:
        counts = []
        for label in (METRO, FLAT_BEST, "oracle"):
            line = at_budget(key, label)
            solved = line.config.solved(line.step_budget)
            for tag in ("on_table", "in_air"):
                tagged = np.array([tag in row.tags for row in line.config.runs])
                kept = solved[tagged & ~line.config.is_trivial]
                counts.append(f"{kept.sum()} of {len(kept)}")
        rows.append((key[0], str(key[2]), *counts))
    header = ("recordings", "d", "metro, table", "metro, air", "flat, table",
              "flat, air", "oracle, table", "oracle, air")  # fmt: skip
    what = (
        "Runs solved within T = 2 d, the cube on the table or in the air at the start; "
        "trivially solved starts left out; lewm models."
    )
    methods = (METRO, "flat", "oracle")
    return Table(header, tuple(rows), source(keys, what, methods))


def options() -> Table:
    """Return the hierarchical planners with options beyond their authors' way."""
    key, rows = ("tworoom", "lewm", 25), []
    for plain in ("hi-lewm", "hi-lewm-c"):
        ours = [c.method for c in tasks()[key] if c.key.name == plain and c.key.option]
        base = at_budget(key, plain)
        for label in ours:
            line = at_budget(key, label)
            one, other = runs(base), runs(line)
            common = one.keys() & other.keys()
            same = sum(one[run] == other[run] for run in common)
            rows.append((label, share(line), share(base), f"{same} of {len(common)}"))
    header = ("method", "success", "as its authors run it", "same outcome")
    what = "Success in percent [95 %], d = 25, T = 50."
    methods = ("hi-lewm", "hi-lewm-c", *(row[0] for row in rows))
    return Table(header, tuple(rows), source([key], what, methods))


def routes() -> Table:
    """Return what routes are made of on PushT and Cube."""
    lines = []
    shown = [row for row in research("routes")["rows"] if row["apart"]]
    for row in shown:
        block = "block, pixels" in row
        moved = row["block, pixels"] if block else row["grasps"]["cube, cm"]
        unit = "pixels" if block else "cm"
        apart = row["apart"][f"{'block' if block else 'cube'}, {unit}"]
        grasps = row.get("grasps")
        lines.append(
            (
                row["queries"].removesuffix("-d75.csv"),
                f"{row['median_bridges']:.0f}",
                f"{row['median_bridge_price']:.2f}",
                f"{apart:.1f} {unit}",
                f"{moved['moved by bridges']:.1f} {unit}",
                f"{moved['moved along recordings']:.1f} {unit}",
                f"{grasps['along a recording']} of {grasps['starts on the table']}"
                if grasps
                else NONE,
            )
        )
    found = {row["commit"] for row in shown}
    header = ("recordings", "bridges", "price of one, frames", "jump of the object",
              "moved by bridges", "moved along recordings",
              "grasps along a recording")  # fmt: skip
    caption = (
        "Medians over the routes of 50 queries, d = 75; object: PushT's block, Cube's "
        f"cube. `python -m research.routes FOLDER`; {commits(found)}."
    )
    return Table(header, tuple(lines), caption)


def nudges() -> Table:
    """Return what the pricing curve asks for an object that moved by itself."""
    found = research("nudges")
    key = "price in frames: quartile, median, quartile"
    lines = tuple(
        (
            row["corpus"],
            "; ".join(f"{what}: {p[1]:.1f}" for what, p in row[key].items()),
        )
        for row in found["rows"]
    )
    caption = (
        "Median over 200 recorded frames drawn again with one object moved; "
        f"`python -m research.nudges FOLDER`; commit {found['commit'][:7]}."
    )
    return Table(("recordings", "price in frames of what moved"), lines, caption)


def tuning() -> Table:
    """Return the search for (h, H, α) on 16 queries of their own."""
    lines, found = [], set()
    for name in ("pusht-replayed", "pusht", "cube-planned", "cube"):
        cells = _tuning_cells(f"{name}-d75")
        ranked = sorted(cells, key=lambda cell: (-cell.success(150), cell.name))
        solved = [
            f"{_short(cell)}: {round(cell.success(150) * len(cell.runs))}"
            for cell in ranked
        ]
        found |= {row.commit for cell in cells for row in cell.runs}
        lines.append((name, "; ".join(solved)))
    caption = (
        "Solved of 16 queries, d = 75, T = 150, seed 7; α = 0.25 unless given; queries "
        f"RECORDINGS-d75-tuning.csv; rows results/tuning; `metro sweep`; {commits(found)}."
    )
    return Table(("recordings", "(h, H): solved"), tuple(lines), caption)


def tried() -> Table:
    """Return models and graphs that were tried on Cube without effect."""
    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    found = set()
    for name in ("cube-planned-tried", "cube-heads"):
        for cell in _tuning_cells(f"{name}-d75"):
            option = cell.key.choices
            key = (Path(cell.task.corpus).stem, cell.task.digests[0][:6], option)
            line = MethodResult(cell.method, cell, 2 * FAR)
            lines.setdefault(key, {})[cell.key.name] = share(line)
            found |= {row.commit for row in cell.runs}
    methods = (METRO, "flat", "oracle")
    rows = tuple(
        (key[0], f"{key[1]} {key[2]}".strip(), *(some.get(m, NONE) for m in methods))
        for key, some in sorted(lines.items())
    )
    caption = (
        "Success in percent [95 %], d = 75, T = 150, seed 7; model: first digits of "
        f"its digest; rows results/tuning; {commits(found)}."
    )
    return Table(("recordings", "model", *methods), rows, caption)


def _tuning_cells(name: str) -> list[ConfigResult]:
    (file,) = (RESULTS / "tuning").glob(f"{name}.jsonl*")
    return group_rows(load_records([file]))


def _short(cell: ConfigResult) -> str:
    extra = f", {cell.key.choices}" if cell.key.choices else ""
    return f"({cell.plan_blocks}, {cell.waypoint_budget}{extra})"

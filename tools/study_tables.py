"""Tables of the results pages that are computed from study rows and research files."""

import json
import tomllib
from pathlib import Path

from result_tables import NONE, RESULTS, ROOT, commits, share

from metro.analysis.comparison import MethodResult, difference
from metro.analysis.config_results import ConfigResult
from metro.analysis.episode_results import load_records
from metro.analysis.grouping import group_rows
from metro.report.document import Table
from metro.studies.residual.show_residual import ResidualResult, summarise_residuals

RESEARCH = ROOT / "research"
BENCHMARKS = ("tworoom", "reacher", "cube", "pusht")


def study_rows(name: str) -> list[dict]:
    """Return the rows of a study."""
    (file,) = (RESULTS / "studies").glob(f"{name}.jsonl*")
    return load_records([file])


def rows_source(name: str, rows: list[dict]) -> str:
    """Return where the rows of a study come from."""
    found = commits(str(row["versions"]["commit"]) for row in rows)
    return f"Rows results/studies/{name}.jsonl.gz; {found}."


def research(name: str) -> dict:
    """Return what an investigation wrote."""
    return json.loads((RESEARCH / f"{name}.json").read_text())


def paper_rows(name: str) -> list[dict]:
    """Return one of the lists of the paper's numbers."""
    return tomllib.loads((ROOT / "benchmarks" / "paper.toml").read_text())[name]


def residuals() -> Table:
    """Return how far sub-goals are from what the simulator can show."""
    rows = study_rows("residual")
    found = summarise_residuals(rows)
    columns = (
        ("recorded", ""), ("metro", ""), ("hi-lewm", "h_h = 2"),
        ("hi-lewm-c", "h_h = 2"), ("hi-lewm-c-staged", "h_h = 2"), ("random", ""),
    )  # fmt: skip
    lines = []
    for benchmark in BENCHMARKS:
        shown = []
        for method, planner in columns:
            (one,) = (
                r
                for r in found
                if (r.benchmark, r.method, r.budget) == (benchmark, method, "small")
                and planner in (r.planner or "")
            )
            shown.append(f"{one.relative:.2f} (n = {one.num_latents})")
        lines.append((benchmark, *shown, _larger_search(found, benchmark)))
    header = ("world", "recorded frames", "metro", "Hi-LeWM", "Hi-LeWM-C", "staged",
              "random latents", "Hi-LeWM-C, 4 x the search")  # fmt: skip
    caption = (
        "Median residual r(z) of Eq. 3 over the median gap of consecutive frames; n "
        "sub-goals at d = 75, h_h = 2, at most 23,040 renders each; `metro residual`. "
    )
    return Table(header, tuple(lines), caption + rows_source("residual", rows))


def _larger_search(found: list[ResidualResult], benchmark: str) -> str:
    """Return a residual before and after a search that is four times as large."""
    (large,) = (r for r in found if (r.benchmark, r.budget) == (benchmark, "large"))
    (small,) = (
        r
        for r in found
        if (r.benchmark, r.method, r.planner, r.budget)
        == (benchmark, large.method, large.planner, "small")
    )
    return f"{small.relative:.3f} to {large.relative:.3f} ({large.planner})"


def micro_planner() -> Table:
    """Return every method with the base model and with a fine-tuned one."""
    rows = study_rows("micro-planner")
    cells: dict[tuple[str, str, str], ConfigResult] = {}
    for role in ("base", "fine-tuned"):
        for cell in group_rows([row for row in rows if row["role"] == role]):
            cells[cell.task.benchmark, cell.method, role] = cell
    lines = []
    for benchmark in BENCHMARKS:
        shown = []
        for method in ("flat", "metro", "oracle"):
            base, tuned = (
                MethodResult(role, cells[benchmark, method, role], 150)
                for role in ("base", "fine-tuned")
            )
            low, high = difference(tuned, base).interval
            shown.append(
                f"{100 * base.success:.0f} to {100 * tuned.success:.0f} "
                f"[{100 * low:+.0f}, {100 * high:+.0f}]"
            )
        lines.append((benchmark, *shown))
    header = ("recordings", "flat", "metro", "oracle")
    caption = (
        "Success in percent, base to fine-tuned model [95 % of the paired difference]; "
        "d = 75, T = 150, n = 50 (seed 7); `metro study micro-planner`. "
    )
    return Table(header, tuple(lines), caption + rows_source("micro-planner", rows))


def corpus_size() -> Table:
    """Return metro's success with graphs of fewer episodes."""
    rows = study_rows("corpus-size")
    shares = sorted({row["share"] for row in rows})
    groups: dict[tuple[str, float], list[dict]] = {}
    for row in rows:
        groups.setdefault((Path(row["corpus"]["name"]).stem, row["share"]), []).append(
            row
        )
    lines = []
    for name in dict.fromkeys(name for name, _ in groups):
        shown = []
        for part in shares:
            some = groups.get((name, part))
            if some is None:
                shown.append(NONE)
                continue
            (cell,) = group_rows(some)
            line = MethodResult("metro", cell, cell.step_budget)
            shown.append(f"{share(line)} ({some[0]['episodes_used']:,} episodes)")
        lines.append((name, *shown))
    header = ("recordings", *(f"{part:.3g} %" for part in shares))
    caption = (
        "Success in percent [95 %] with that share of the episodes in the graph, "
        "d = 75, T = 150, n = 150 unless given; `metro study corpus-size`. "
    )
    return Table(header, tuple(lines), caption + rows_source("corpus-size", rows))


def offline_cost() -> Table:
    """Return what metro and a macro model cost once per corpus."""
    rows = {row["benchmark"]: row for row in study_rows("offline-cost")}
    paper = {row["benchmark"]: row for row in paper_rows("offline_cost")}
    lines = []
    for name in BENCHMARKS:
        ours, theirs = rows[name], paper[name]
        lines.append(
            (
                name,
                f"{ours['seconds']['cpu'] / 60:.2f}",
                f"{ours['macro']['cpu_minutes']:.1f}",
                f"{60 * ours['macro']['cpu_minutes'] / ours['seconds']['cpu']:.0f}",
                f"{ours['macro']['steps']:,}",
                f"{60 * theirs['gpu_hours'] / theirs['total']:.0f}",
                f"{theirs['steps']:,}",
            )
        )
    header = ("world", "metro, CPU minutes", "macro model, CPU minutes", "ratio",
              "our steps", "ratio in the paper", "steps in the paper")  # fmt: skip
    caption = (
        "Metro: encoding, neighbour table and graph. Macro model: training it; small "
        "LeWM models. `metro study offline-cost`. "
    )
    source = rows_source("offline-cost", list(rows.values()))
    return Table(header, tuple(lines), caption + source)


def replays() -> Table:
    """Return what replays of the query's own demonstration are worth on PushT."""
    found = research("twins")
    lines = (
        ("replays of the query's own demonstration", str(found["solved with replays"])),
        ("no replay of it", str(found["solved without"])),
    )
    setting, sizes = found["setting"], {r["episodes"] for r in found["rows"]}
    caption = (
        f"metro, h = {setting['plan_blocks']}, H = {setting['waypoint_budget']}, d = "
        f"75, T = {setting['step_budget']}, seed {setting['planner_seed']}; queries "
        f"pusht-replayed-d75.csv; graphs of {' and '.join(f'{s:,}' for s in sorted(sizes))} "
        f"episodes; `python -m research.twins FOLDER`; commit {found['commit'][:7]}."
    )
    header = ("the graph has", f"solved of {found['queries']} queries")
    return Table(header, lines, caption)

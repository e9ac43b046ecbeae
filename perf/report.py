"""What a run leaves behind: a JSON file that can be checked, and a Markdown table."""

import json
import os
import platform
import shlex
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from metro.version import commit
from perf.measuring import Row

_COLUMNS = ("kind", "method", "data", "frames", "time", "x ours", "recall@4", "note")


def render(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table; ``x ours`` is their time over ours."""
    lines = [_line(_COLUMNS), _line(["---"] * len(_COLUMNS))]
    return "\n".join([*lines, *(_line(_cells(row)) for row in rows)]) + "\n"


def write_report(rows: Sequence[Row], settings: dict[str, Any], output: Path) -> None:
    """Write ``<output>.json`` and ``<output>.md``."""
    report = {
        "command": command(settings, output),
        "settings": settings,
        "commit": commit(),
        "machine": machine(),
        "versions": versions(),
        "rows": list(rows),
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    output.with_name(output.name + ".json").write_text(text, encoding="utf-8")
    output.with_name(output.name + ".md").write_text(render(rows), encoding="utf-8")


def command(settings: dict[str, Any], output: Path) -> str:
    """Return the line that runs these settings again, paths reduced to file names."""
    data = ("latents",) if "latents" in settings else ("state_dim", "noise")
    words = ["metro", "bench", *settings["kinds"]]
    for name in ("num_frames", *data, "seed", "threads"):
        words += [f"--{name.replace('_', '-')}", str(settings[name])]
    return shlex.join([*words, "-o", output.name])


def machine() -> dict[str, Any]:
    """Return what the figures depend on besides the code."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_average": os.getloadavg(),
    }


def versions() -> dict[str, str]:
    """Return the version of every installed package."""
    found = {item.name.lower(): item.version for item in distributions()}
    return dict(sorted(found.items()))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.processor()


def _cells(row: Row) -> list[str]:
    ratio, recall = row["ratio"], row["recall"]
    return [
        row["kind"],
        row["method"],
        row["data"],
        f"{row['num_frames']:,}",
        _time(row["seconds"]),
        "" if ratio is None else f"{ratio:.3g}",
        "" if recall is None else f"{recall:.3f}",
        "; ".join(part for part in (_checked(row), row["note"]) if part),
    ]


def _checked(row: Row) -> str:
    return {True: "exact", False: "NOT EXACT", None: ""}[row["exact"]]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

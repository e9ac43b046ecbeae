"""Write what the shipped models reach into their cards, from the rows in results/.

Only the section "What it reaches" is written; all else in a card stays as it is.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from metro.analysis.statistics import wilson
from metro.evaluation.records import find_record_files, read_records

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "src" / "metro" / "assets"
ROWS = ROOT / "results"
HEADING = "## What it reaches\n"


def cards() -> list[Path]:
    """Return the cards of the shipped world models."""
    return sorted(file for file in ASSETS.glob("*.md") if "macro-" not in file.name)


def render(card: Path) -> str:
    """Return a card with its section rewritten; unchanged without rows."""
    text = card.read_text()
    lines = _reached(card.stem)
    if not lines:
        return text
    before, _, after = text.partition(HEADING)
    rest = re.search(r"^## ", after, re.M)
    kept = "\n" + after[rest.start() :] if rest else ""
    return before + HEADING + "\n" + "\n".join(lines) + "\n" + kept


def _reached(model: str) -> list[str]:
    """Return a line for each plan length of flat CEM at d = 25, best first."""
    groups: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    for row in _flat_rows(model):
        groups[row["setting"]["plan_blocks"], row["queries"]["name"]].append(row)
    lines = [(_rate(rows), _line(rows)) for rows in groups.values()]
    return [line for _, line in sorted(lines, key=lambda pair: -pair[0])]


def _flat_rows(model: str) -> Iterable[dict[str, Any]]:
    for file in find_record_files(ROWS):
        for row in read_records(file):
            named = (row["model"] or {}).get("name") == model
            near = row["query"]["goal"] - row["query"]["start"] == 25
            if named and near and row["setting"]["method"] == "flat":
                yield row


def _rate(rows: list[dict[str, Any]]) -> float:
    return sum(row["frames_to_success"] is not None for row in rows) / len(rows)


def _line(rows: list[dict[str, Any]]) -> str:
    first, number = rows[0], len(rows)
    low, high = wilson(round(_rate(rows) * number), number)
    open_starts = [row for row in rows if not row["is_presolved"]]
    seeds = sorted({row["setting"]["planner_seed"] for row in rows})
    return (
        f"- Flat CEM, d = 25, T = {first['setting']['step_budget']}, "
        f"h = {first['setting']['plan_blocks']}: {_rate(rows):.0%} "
        f"[{low:.0%}, {high:.0%}], n = {number} (planner seeds "
        f"{', '.join(map(str, seeds))}; {first['queries']['name']}); "
        f"{_rate(open_starts):.0%} of the {len(open_starts)} whose start was not "
        f"already solved."
    )


if __name__ == "__main__":
    for card in cards():
        card.write_text(render(card))
    print(f"wrote {len(cards())} cards")

"""Compare the rows of two source trees: what was planned before is planned the same.

    python -m research.same_rows BEFORE AFTER    (folders with files of the same names)

Rows are matched by query, seed and setting. Frames to success, kinds of sub-goals and
whether the start was trivially solved must be equal; seconds and provenance may differ.
"""

import json
import sys
from pathlib import Path
from typing import Any

from metro.evaluation.records import read_records

SAME = ("frames_to_success", "kinds", "is_presolved", "demonstration_frames", "error")


def key(row: dict[str, Any]) -> str:
    """Return what distinguishes one run from another: its query and its setting."""
    return json.dumps([row["query"], row["setting"]], sort_keys=True)


def compare(before: Path, after: Path) -> tuple[int, int, int]:
    """Return how many runs there were before, how many are the same, and solved."""
    old = {key(row): row for row in read_records(before)}
    new = {key(row): row for row in read_records(after)} if after.exists() else {}
    same = [
        run
        for run, row in old.items()
        if run in new and all(row.get(n) == new[run].get(n) for n in SAME)
    ]
    solved = sum(row["frames_to_success"] is not None for row in old.values())
    return len(old), len(same), solved


def main() -> None:
    """Print a line for every file, and exit with 1 if any run differs."""
    before, after = map(Path, sys.argv[1:3])
    total = equal = 0
    print("| recordings and method | runs | solved | same after |\n|---|---|---|---|")
    for file in sorted(before.glob("*.jsonl")):
        runs, same, solved = compare(file, after / file.name)
        total, equal = total + runs, equal + same
        print(f"| {file.stem} | {runs} | {solved} | {same} |")
    print(f"\n{equal} of {total} runs are the same.")
    sys.exit(equal != total)


if __name__ == "__main__":
    main()

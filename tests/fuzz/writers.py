"""Several processes append rows to one file; some of them are killed. None is lost."""

import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

from forking import end, in_fresh_process, kill_after, repeat, start

WRITERS = 4


def campaign(seed: int, seconds: float, rows: int = 400) -> dict[str, int]:
    """Return counts: rows written, and how many were lost, doubled or damaged.

    Args:
        seed: Of sizes, pauses and kills.
        seconds: How long to go on.
        rows: Of every writer in every try.
    """
    return in_fresh_process(__file__, seed, seconds, rows)


def write(path, acknowledged, writer, rows, seed):
    """Append rows in small batches; note each batch once it is on disk."""
    from metro.evaluation.records import append_records

    rng = random.Random(f"{seed}-{writer}")
    with open(acknowledged, "a") as notes:
        number = 0
        while number < rows:
            batch = range(number, min(rows, number + rng.randint(1, 25)))
            long = "x" * rng.choice((0, 100, 3000))
            append_records(
                [{"writer": writer, "number": one, "text": long} for one in batch], path
            )
            notes.write("".join(f"{one}\n" for one in batch))
            notes.flush()
            number = batch.stop


def one_try(rng, rows):
    """Let four writers work at once, and perhaps kill one; count what became of it."""
    from metro.evaluation.records import read_records

    folder = Path(tempfile.mkdtemp(prefix="metro-writers-"))
    path, seed = folder / "rows.jsonl", rng.random()
    notes = [folder / f"notes-{writer}" for writer in range(WRITERS)]
    children = [
        start(partial(write, path, notes[n], n, rows, seed), folder / "log")
        for n in range(WRITERS)
    ]
    counts = Counter()
    if rng.random() < 0.5:
        counts["killed"] += kill_after(rng.uniform(0, 0.3), children.pop())[0] < 0
    counts["failed"] += sum(end(child) != 0 for child in children)
    # What a last kill cut short is mended by the next writer.
    write(path, folder / "notes-9", 9, 1, seed)
    try:
        found = Counter((row["writer"], row["number"]) for row in read_records(path))
    except Exception as error:
        sys.stderr.write(f"{error}\n")
        return counts + Counter(unreadable=1)
    expected = {
        (writer, int(line))
        for writer, file in enumerate(notes)
        if file.exists()
        # A killed writer may have cut a note short.
        for line in file.read_text().split("\n")[:-1]
    }
    counts["rows"] += len(expected)
    counts["lost"] += len(expected - set(found))
    counts["doubled"] += sum(times > 1 for times in found.values())
    counts["leftovers"] += len(set(os.listdir(folder)) - {"rows.jsonl", "log"} - {
        file.name for file in folder.glob("notes-*")
    })  # fmt: skip
    shutil.rmtree(folder)
    return counts


if __name__ == "__main__":
    seed, seconds, rows = json.loads(f"[{','.join(sys.argv[1:])}]")
    import metro.evaluation.records  # noqa: F401  (once, before the forks)

    repeat(partial(one_try, rows=rows), seed, seconds, 10**9)

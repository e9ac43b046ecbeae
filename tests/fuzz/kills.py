"""``metro train``, ``record`` and ``rerun``, killed and run again: the same bytes."""

import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

from forking import end, in_fresh_process, kill_after, repeat, start

VERBS = ("train", "record", "rerun")
SPENT = ("seconds", "cost", "versions")
"""What two runs of the same command differ in: how long they took."""


def campaign(seed: int, seconds: float, most: int = 10**9) -> dict[str, int]:
    """Return counts of every verb: tries, kills, and results that are wrong.

    Args:
        seed: Of the moments.
        seconds: How long to go on, for all verbs together.
        most: Number of tries of every verb.
    """
    counts = Counter()
    for verb in VERBS:
        found = in_fresh_process(__file__, verb, seed, seconds / len(VERBS), most)
        counts.update({f"{verb} {name}": number for name, number in found.items()})
    return dict(counts)


def command(verb, folder):
    """Return the arguments of a small command whose results are in ``folder``."""
    corpus = ["--corpus", f"{folder}/c.h5"]
    if verb == "record":
        sizes = "--episodes 8 --image-size 32 --steps 30 --workers 1"
        return ["record", "tworoom", "-o", f"{folder}/new.h5", *sizes.split()]
    if verb == "train":
        sizes = "--steps 12 --batch-size 4"
        made = ["-o", f"{folder}/m.safetensors"]
        return ["train", "tworoom", *corpus, *made, *sizes.split()]
    sizes = "--goal-distance 25 --first 1 --planner-seed 7 --batch 1"
    made = ["--model", "lewm-small-tworoom", "-o", f"{folder}/out"]
    return ["rerun", "tworoom", *corpus, *made, *sizes.split()]


def run(arguments):
    """Run the command line in this process, with checkpoints as often as possible."""
    from metro.cli import main
    from metro.models import trainer
    from metro.storage import parts

    trainer.CHECKPOINT_SECONDS = parts._EVERY_SECONDS = 0.0
    sys.argv = ["metro", *arguments]
    main()


def results(folder):
    """Return the content of all files that a command wrote, without times."""
    found = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name, content = str(file.relative_to(folder)), file.read_bytes()
        if file.suffix == ".jsonl":
            content = sorted(
                json.dumps(without_times(json.loads(line)))
                for line in content.splitlines()
            )
        elif file.name.endswith(".report.json"):
            content = without_times(json.loads(content))
        # The log and the card are mostly times.
        if not file.name.endswith((".log.json", ".md", ".txt")):
            found[name] = content
    return found


def without_times(row):
    """Return a JSON object without what two equal runs differ in."""
    return {name: value for name, value in row.items() if name not in SPENT}


def new_folder(corpus):
    """Return a folder with a copy of the corpus, whose pixels are not cached yet."""
    folder = Path(tempfile.mkdtemp(prefix="metro-kills-"))
    if corpus is not None:
        shutil.copy(corpus, folder / "c.h5")
    return folder


def one_try(rng, verb, corpus, expected, seconds):
    """Kill a command up to six times, let it finish, and compare."""
    folder, counts, code = new_folder(corpus), Counter(), -1
    work, log = partial(run, command(verb, folder)), folder / "log.txt"
    # Short pauses, for what was done before a kill is not done again.
    for _ in range(rng.randint(2, 6)):
        if code < 0:
            (code,) = kill_after(rng.uniform(0, 0.5 * seconds), start(work, log))
            counts["killed"] += code < 0
    if code < 0:
        code = end(start(work, log))
    counts["failed"] += code != 0
    found = results(folder)
    counts["wrong"] += any(found.get(name) != expected[name] for name in expected)
    counts["leftovers"] += len(found.keys() - expected.keys())
    if code or found != expected:
        differing = [name for name in found if found[name] != expected.get(name)]
        said = f"{verb} {code} {differing} {log.read_text()[-800:]}\n"
        sys.stderr.write(said)
    shutil.rmtree(folder)
    return counts


def prepare(verb, folder):
    """Import what takes long, and record what the verb needs; return the corpus."""
    from metro.benchmark import load_benchmark
    from metro.compat import import_swm
    from metro.envs.cpu_determinism import common_arithmetic

    # Recording then happens in the process that is killed, not in its children.
    os.environ.update(common_arithmetic())
    import_swm()
    from metro.data.collect.record import record

    if verb == "record":
        return None
    made = partial(
        record, load_benchmark("tworoom"), folder / "c.h5", episodes=12, image_size=32
    )
    # In a child: what uses threads or OpenGL must not be forked.
    assert end(start(made, folder / "log.txt")) == 0, (folder / "log.txt").read_text()
    return folder / "c.h5"


if __name__ == "__main__":
    verb, (seed, seconds, most) = sys.argv[1], map(float, sys.argv[2:])
    home = Path(tempfile.mkdtemp(prefix="metro-kills-"))
    corpus, whole = prepare(verb, home), None
    folder, started = new_folder(corpus), time.monotonic()
    assert end(start(partial(run, command(verb, folder)), home / "log.txt")) == 0, (
        home / "log.txt"
    ).read_text()
    took, whole = time.monotonic() - started, results(folder)
    sys.stderr.write(f"{verb} takes {took:.1f} s uninterrupted\n")
    tried = partial(one_try, verb=verb, corpus=corpus, expected=whole, seconds=took)
    repeat(tried, int(seed), seconds, most)
    for path in (home, folder):
        shutil.rmtree(path)

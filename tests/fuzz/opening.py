"""Healthy files that are spoiled at random and opened: one line or an answer.

What the campaigns on files and on models share. A forked child, with limits of time and
memory, makes one try after another and says how each ended. When it dies, so it was the
try it was at, and another child goes on.
"""

import gc
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from alterations import clear, spoil_bytes, spoil_place
from forking import end

SECONDS, PATIENCE, MEMORY = 10, 60, 6 << 30
"""Limits of one try: processor seconds, seconds, and the memory of a child."""

CODES = {-signal.SIGALRM: "hangs", -signal.SIGPROF: "hangs", 1: "failed"}
"""How a child dies; else by a signal of the system's. It fails by itself."""

SLOW = 1.0
"""Processor seconds until a refusal."""

TRIES = 200
"""Of one child: what a try leaves open must not stop later ones."""


class Kind(NamedTuple):
    """One kind of file, and how it is made, spoiled and opened."""

    name: str
    make: Callable[[Path], None]
    spoil: Callable[[random.Random, Path], None]
    open: Callable[[Path], None]
    weights: tuple[int, int, int] = (10, 10, 1)
    """How often the alteration that knows the format is chosen, any byte, the place."""


def look(work: Callable[[Path], None], path: Path) -> str:
    """Return a word for what happened when a file was opened."""
    from metro.errors import MetroError

    began = time.process_time()
    try:
        work(path)
        return "accepted"
    except MetroError as error:
        # One line for a person: what the system calls it says nothing.
        shown = str(error)
        is_tidy = "\n" not in shown and "Errno" not in shown and len(shown) < 1_000
        took = time.process_time() - began
        word = "untidy" if not is_tidy else "slow" if took > SLOW else "clean"
    except (OSError, MemoryError) as error:
        word, shown = "system", repr(error)
    except BaseException:
        word, shown = "untidy", traceback.format_exc()
    if word != "clean":
        sys.stderr.write(f"{path}: {word}: {shown[-1500:]}\n")
        keep(path.parent)
    return word


def keep(folder: Path) -> None:
    """Copy what caused a fault."""
    kept = tempfile.mkdtemp(prefix="metro-fault-", dir="/tmp")
    for path in folder.iterdir():
        if path.is_file() and not path.is_symlink():
            shutil.copyfile(path, f"{kept}/{path.name}")
    sys.stderr.write(f"kept in {kept}\n")


def spoil(rng: random.Random, kind: Kind, folder: Path) -> Path:
    """Spoil a copy of the healthy files that lie beside a folder; return its path."""
    clear(folder)
    for file in folder.parent.iterdir():
        if file.is_file():
            shutil.copyfile(file, folder / file.name)
    path = folder / kind.name
    rng.choices((kind.spoil, spoil_bytes, spoil_place), kind.weights)[0](rng, path)
    return path


def work(kind: Kind, folder: Path, seeds: list[str], until: float, pipe: int) -> None:
    """Make tries until the time is over; write a line after each."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What failed to open is closed with its traceback: it must go before the next try.
    gc.freeze()
    for seed in seeds:
        if time.monotonic() > until:
            break
        path = spoil(random.Random(seed), kind, folder)
        signal.alarm(PATIENCE)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        word = look(kind.open, path)
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        os.write(pipe, f"{word}\n".encode())
        gc.collect()


def try_kind(
    kind: Kind, folder: Path, seed: str, seconds: float, most: int
) -> dict[str, int]:
    """Return how tries ended; try n is made from the seed and n alone."""
    counts, until = Counter[str](), time.monotonic() + seconds
    while counts["tries"] < most and time.monotonic() < until:
        first = counts["tries"]
        seeds = [f"{seed}-{n}" for n in range(first, min(most, first + TRIES))]
        mine, its = os.pipe()
        child = os.fork()
        if not child:
            code = 1
            try:
                work(kind, folder, seeds, until, its)
                code = 0
            except BaseException:
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(code)
        os.close(its)
        with os.fdopen(mine) as words:
            ended = Counter(word.strip() for word in words)
        counts += ended + Counter(tries=ended.total())
        if code := end(child):
            sys.stderr.write(f"{seed}-{counts['tries']}: {code}\n")
            counts += Counter({CODES.get(code, "signals"): 1, "tries": 1})
            keep(folder)
    # Also where there was no time for a single one.
    return {"tries": 0} | counts


def main(kinds: Mapping[str, Kind], prepare: Callable[[], None]) -> None:
    """Try all kinds, with the seed, seconds and most tries of the command line."""
    seed, seconds, most = map(float, sys.argv[1:4])
    warnings.simplefilter("ignore")
    sys.path.append(str(Path(__file__).parents[1]))
    prepare()
    counts: dict[str, int] = {}
    for name, kind in kinds.items():
        home = Path(tempfile.mkdtemp(prefix="metro-opening-"))
        kind.make(home / kind.name)
        # The parent imports what a try needs.
        shutil.copytree(home, home / "tried")
        kind.open(home / "tried" / kind.name)
        share = (home / "tried", f"{name}-{int(seed)}", seconds / len(kinds), int(most))
        found = try_kind(kind, *share)
        counts |= {f"{name} {word}": number for word, number in found.items()}
        shutil.rmtree(home)
    sys.stdout.write(json.dumps(counts) + "\n")

"""Healthy files that are spoiled at random and opened: one line or an answer.

What the campaigns on files and on models share. Every try runs in a forked child with
limits of time and memory.
"""

import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from alterations import clear, spoil_bytes, spoil_place
from forking import end, in_fresh_process, repeat

SECONDS, MEMORY = 10, 6 << 30
"""Limits of one try."""

CODES = {0: "accepted", 3: "clean", 4: "system", 5: "untidy", -signal.SIGALRM: "hangs"}
"""How a try ends: an answer, an error of ours, of the system, or anything else."""

REFUSED, SYSTEM, UNTIDY = 3, 4, 5


class Kind(NamedTuple):
    """One kind of file, and how it is made, spoiled and opened."""

    name: str
    make: Callable[[Path], None]
    spoil: Callable[[random.Random, Path], None]
    open: Callable[[Path], None]
    weights: tuple[int, int, int] = (10, 10, 1)
    """How often the alteration that knows the format is chosen, any byte, the place."""


def campaign(
    script: str, kinds: Mapping[str, Kind], seed: int, seconds: float, most: int
) -> dict[str, int]:
    """Return counts of every kind, each tried in a process of its own."""
    counts = {}
    for kind in kinds:
        found = in_fresh_process(script, kind, seed, seconds / len(kinds), most)
        counts |= {f"{kind} {name}": number for name, number in found.items()}
    return counts


def look(work, path):
    """End this process with the code of what happened when a file was opened."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from metro.errors import MetroError

    code = 0
    try:
        work(path)
    except MetroError as error:
        # One line for a person: what the system calls it says nothing.
        is_tidy = "\n" not in str(error) and "Errno" not in str(error)
        code = REFUSED if is_tidy and len(str(error)) < 1_000 else UNTIDY
        shown = str(error)
    except (OSError, MemoryError) as error:
        code, shown = SYSTEM, repr(error)
    except BaseException:
        code, shown = UNTIDY, traceback.format_exc()
    if code in (SYSTEM, UNTIDY):
        sys.stderr.write(f"{path.name}: {shown[-1500:]}\n")
    sys.stderr.flush()
    os._exit(code)


def one_try(rng, kind, folder):
    """Spoil a copy of the files beside a folder, open it in a child, count the end."""
    clear(folder)
    for file in folder.parent.iterdir():
        if file.is_file():
            shutil.copyfile(file, folder / file.name)
    path = folder / kind.name
    rng.choices((kind.spoil, spoil_bytes, spoil_place), kind.weights)[0](rng, path)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = os.fork()
    if not child:
        look(kind.open, path)
    code = end(child)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if code < 0:
        kept = tempfile.mkdtemp(prefix="metro-fault-")
        shutil.copytree(folder, kept, dirs_exist_ok=True)
        sys.stderr.write(f"{kind.name} ended by {-code}: {kept}\n")
    ended = CODES.get(code, "signals")
    return Counter({ended: 1, "slow": int(code == REFUSED and used > 1)})


def main(kinds: Mapping[str, Kind], prepare: Callable[[], None]) -> None:
    """Try the kind, with the seed, seconds and most tries of the command line."""
    kind, (seed, seconds, most) = kinds[sys.argv[1]], map(float, sys.argv[2:])
    warnings.simplefilter("ignore")
    sys.path.append(str(Path(__file__).parents[1]))
    prepare()
    home = Path(tempfile.mkdtemp(prefix="metro-opening-"))
    kind.make(home / kind.name)
    # The parent imports what a try needs.
    shutil.copytree(home, home / "tried")
    kind.open(home / "tried" / kind.name)

    def tried(rng: random.Random) -> Counter[str]:
        """Count one try of this kind."""
        return one_try(rng, kind, home / "tried")

    repeat(tried, f"{sys.argv[1]}-{int(seed)}", seconds, most)
    shutil.rmtree(home)

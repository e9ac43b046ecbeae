"""Crafted and damaged graphs: an error of one line or an answer, never a crash."""

import hashlib
import json
import os
import resource
import shutil
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
from forking import end, in_fresh_process, repeat, start

PARTS = {"crafted": 0.25, "checked": 0.2, "cold": 0.2, "damaged": 0.25, "latents": 0.1}
"""What is tried, and how much of the time it has.

crafted: defects in graphs whose seals fit. checked: the same, with bounds checked by
Numba. cold: crafted graphs, each the first that a process opens: no kernel is loaded.
damaged: manifests untouched. latents: ``.npz`` files for ``metro build``.
"""

SLOW, HANGS, MEMORY = 1.0, 60, 1 << 30
"""Seconds until a refusal, seconds of a try, bytes beyond those of a healthy graph.

A file that really is large may take 8 times its size as well.
"""

SILENT = ("damaged", "different")
"""Damage that changes an answer and is not noticed: which array it was is said."""


def campaign(seed: int, seconds: float, most: int = 10**9) -> dict[str, int]:
    """Return counts of every part: tries, and what came of them.

    Args:
        seed: Of the defects.
        seconds: How long to go on, for all parts together.
        most: Number of tries of every part.
    """
    counts = Counter()
    for part, share in PARTS.items():
        found = in_fresh_process(__file__, part, seed, seconds * share, most)
        # One in a hundred may go unnoticed where digests are not checked by default;
        # two, where too few were tried to tell.
        if part == "damaged":
            allowed = max(2, found["tries"] // 100)
            found["silent"] = max(0, found.get("different", 0) - allowed)
        counts.update({f"{part} {name}": number for name, number in found.items()})
    return dict(counts)


def outcome(path, part):
    """Return what became of a graph: a word, what was said, a digest of the answers."""
    from metro.errors import MetroError

    summary = hashlib.sha256()
    work, began = searching.steps_of(path, part), time.process_time()
    try:
        for answer in work:
            summary.update(np.ascontiguousarray(answer).tobytes())
            began = time.process_time()
    except MetroError as error:
        took = time.process_time() - began
        said = f"{type(error).__name__}: {error}"
        return ("slow" if took > SLOW else "clean"), said, f"{took:.2f} s"
    except MemoryError as error:
        return "memory", str(error), ""
    except AssertionError as error:
        return "wrong", f"costs do not add up: {error}", ""
    except BaseException as error:
        compiled = isinstance(error, IndexError) and "out of bounds" in str(error)
        word = "out_of_bounds" if compiled else "untidy"
        return word, traceback.format_exc()[-1500:], ""
    return "answered", "", summary.hexdigest()


def child(path, part, note, limit):
    """Write the outcome to a file, within limits of time and memory."""
    resource.setrlimit(resource.RLIMIT_CPU, (HANGS, HANGS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    warnings.simplefilter("ignore")
    note.write_text(json.dumps(outcome(path, part)))


def watched(path, part, folder):
    """Return the outcome of one graph in a child, and the memory it took."""
    note = folder / "note"
    note.unlink(missing_ok=True)
    number = start(partial(child, path, part, note, 8 << 30), folder / "log")
    _, status, spent = os.wait4(number, 0)
    code, used = os.waitstatus_to_exitcode(status), spent.ru_maxrss << 10
    if code == 0 and note.exists():
        return (*json.loads(note.read_text()), used)
    word = "hangs" if code == -24 else "signals" if code < 0 else "untidy"
    return word, f"exit code {code}", "", used


def one_try(rng, part, folder, healthy):
    """Make one graph wrong, use it in a child, and count what came of it."""
    source = rng.choice([*healthy])
    path = folder / f"made{source.suffix}"
    if part == "latents":
        what = archives.craft_latents(path, searching.healthy_rows(), rng)
    else:
        shutil.copytree(source, path)
        what = (damage if part == "damaged" else defects.craft)(path, rng)
    word, said, summary, used = watched(path, part, folder)
    expected, usual = healthy[source]
    if word == "answered":
        word = "same" if summary == expected else "different"
    content = sum(file.lstat().st_blocks for file in (path, *path.glob("*"))) * 512
    if used > usual + MEMORY + 8 * content and word in ("clean", "same", "different"):
        word = "memory"
    if word not in ("clean", "same", "different") or (part, word) == SILENT:
        sys.stderr.write(f"{part} {source.name}: {what}: {word} {said} {summary}\n")
    path.unlink() if path.suffix else shutil.rmtree(path)
    return Counter({word: 1})


def damage(path, rng):
    """Alter some bits or a word of one array, manifest untouched; return which."""
    file = rng.choice(sorted(path.glob("*.npy")))
    content = bytearray(file.read_bytes())
    place = rng.randrange(128 * (rng.random() < 0.9), len(content))
    if rng.random() < 0.6:
        content[place] ^= 1 << rng.randrange(8)
    else:
        place -= place % 8
        word = rng.choice([struct.pack("<q", each) for each in defects.WORDS])
        content[place : place + 8] = word
    file.write_bytes(content[: file.stat().st_size])
    return f"{file.stem} at {place}"


def require_bounds(path, part):
    """Fail unless Numba checks bounds where it is said to."""
    if part == "checked":
        import metro
        from metro.core.cell_index import CellIndex

        graph = metro.load(path)
        cells = graph.index.cells._asdict()
        cells["frame"] = cells["frame"] + np.int32(10**6)
        try:
            index = CellIndex(graph.latents, cells)
            index.nearest(graph.latents.z[:1], 4, np.array([-1]))
        except IndexError:
            return
        raise AssertionError("NUMBA_BOUNDSCHECK has no effect")


def main(part, seed, seconds, most):
    """Run one part of the campaign, and print its counts."""
    folder = Path(tempfile.mkdtemp(prefix="metro-graphs-"))
    # In a child: what is cold must not have run a kernel.
    assert end(start(partial(searching.make_graphs, folder), folder / "log")) == 0
    sources = [folder / "gap", folder / "reach"]
    if part == "latents":
        sources = [folder / "rows.npz"]
        rows, episodes = searching.healthy_rows(), searching.EPISODES
        lengths = np.full(episodes, len(rows) // episodes)
        np.savez(sources[0], z=rows, episode_lengths=lengths)
    healthy = {}
    for source in sources:
        # Here first, so that every kernel is there before the children start.
        assert part == "cold" or outcome(source, part)[0] == "answered"
        require_bounds(source, part)
        word, said, *found = watched(source, part, folder)
        assert word == "answered", (word, said)
        healthy[source] = found
    tried = partial(one_try, part=part, folder=folder, healthy=healthy)
    repeat(tried, f"{part} {seed}", float(seconds), int(most))
    shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv[1] == "checked":
        os.environ["NUMBA_BOUNDSCHECK"] = "1"
    # After that, for these import Numba.
    import archives
    import defects
    import searching

    main(*sys.argv[1:])

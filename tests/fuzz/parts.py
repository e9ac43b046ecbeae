"""Two encoders on one output, killed, their parts damaged: the same latents."""

import json
import random
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
from forking import end, in_fresh_process, kill_when, repeat, start

EPISODES, LENGTH = 12, 5


def campaign(seed: int, seconds: float, most: int = 10**9) -> dict[str, int]:
    """Return counts: tries, kills, damaged parts, and how many results were wrong.

    Args:
        seed: Of pauses, kills and damages.
        seconds: How long to go on.
        most: Number of tries.
    """
    return in_fresh_process(__file__, seed, seconds, most)


class SlowModel:
    """Takes a random time for every episode, and another one at every run."""

    digest, rendering, image_size, action_size = "slow", "stock", 4, 2

    def __init__(self, seed):
        self._rng = random.Random(seed)

    def encode(self, frames):
        time.sleep(self._rng.uniform(0, 0.01))
        return frames.reshape(len(frames), -1).astype(np.float32)


def make_corpus(folder):
    """Write a corpus whose episodes have equal lengths, and differ in every frame."""
    folder.mkdir()
    rows = EPISODES * LENGTH
    pixels = np.arange(rows * 4 * 4 * 3).reshape(rows, 4, 4, 3) * 7919 % 251
    np.save(folder / "pixels.npy", pixels.astype(np.uint8))
    np.save(folder / "action.npy", np.zeros((rows, 2), np.float32))
    np.save(folder / "ep_len.npy", np.full(EPISODES, LENGTH))
    return folder


def encode(corpus, path, seed):
    """Encode to ``path``; a second process at the same time is refused."""
    from metro.data.corpus import open_corpus
    from metro.data.encode import encode_corpus

    # Damaged parts are a warning, not a failure.
    warnings.simplefilter("ignore")
    with open_corpus(corpus) as opened:
        encode_corpus(opened, SlowModel(seed), path)


def damage(rng, folder):
    """Cut, alter or empty some parts; return how many."""
    files = [file for file in folder.glob("part-*.npz") if rng.random() < 0.3]
    for file in files:
        content = bytearray(file.read_bytes())
        place = rng.randrange(len(content))
        if rng.random() < 0.5:
            content[place] ^= 1 << rng.randrange(8)
        else:
            del content[place:]
        file.write_bytes(content)
    return len(files)


def has_parts(folder, number):
    """Return whether that many parts are there, or everything is done."""
    parts = folder.glob("a.latents.parts/part-*.npz")
    return len(list(parts)) >= number or (folder / "a.latents").exists()


def one_try(rng, corpus, expected):
    """Start two encoders a few times, kill both, damage their parts; then finish."""
    import metro
    from metro.data import encode as module

    folder = Path(tempfile.mkdtemp(prefix="metro-parts-"))
    path, counts = folder / "a.latents", Counter()
    # Parts must be right by themselves: in half of the tries there is no lock.
    locked, module.only_writer = module.only_writer, rng.choice(
        (module.only_writer, lambda _: nullcontext())
    )  # fmt: skip
    for _ in range(rng.randint(1, 3)):
        work = [partial(encode, corpus, path, rng.random()) for _ in range(2)]
        children = [start(one, folder / "log") for one in work]
        enough = rng.randint(0, 2 * EPISODES - 4)
        done = partial(has_parts, folder, enough)
        codes = kill_when(done, *children)
        counts["killed"] += sum(code < 0 for code in codes)
        counts["damaged"] += damage(rng, folder / "a.latents.parts")
        if path.exists():
            break
    module.only_writer = locked
    if not path.exists():
        last = start(partial(encode, corpus, path, rng.random()), folder / "log")
        counts["failed"] += end(last) != 0
        counts["leftovers"] += len(set(folder.iterdir()) - {path, folder / "log"})
    found = metro.load(path, verify=True).z if path.exists() else np.empty(0)
    counts["wrong"] += not np.array_equal(found, expected)
    if counts["failed"] or counts["wrong"]:
        sys.stderr.write((folder / "log").read_text())
    shutil.rmtree(folder)
    return counts


if __name__ == "__main__":
    seed, seconds, most = json.loads(f"[{','.join(sys.argv[1:])}]")
    from metro.storage import parts

    parts._EVERY_SECONDS = 0.0
    home = Path(tempfile.mkdtemp(prefix="metro-parts-"))
    corpus = make_corpus(home / "corpus")
    pixels = np.load(corpus / "pixels.npy")
    expected = pixels.reshape(len(pixels), -1).astype(np.float32)
    tried = partial(one_try, corpus=corpus, expected=expected)
    repeat(tried, seed, seconds, most)
    shutil.rmtree(home)

"""Every verb with one wrong path: one line on stderr, no traceback, nothing waits.

One path of a small healthy command is replaced: by a pipe, a device, a folder, a link
to nothing, another kind of file, or a place that cannot be written.
"""

import contextlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
from forking import end, in_fresh_process, repeat, start

SECONDS, MEMORY = 60, 8 << 30
"""Limits of one try: processor seconds, and bytes."""

REFUSES_IN = 8.0
"""Processor seconds until a refusal: reading a model and a graph may come first."""

TWOROOM = "tworoom --corpus {corpus} --model {model}"
PLANNED = "--queries {queries} --goal-distance 6 --first 1 -o {out}"
VERBS = {
    "record": "record tworoom -o {out} --episodes 2 --image-size 32 --steps 5 "
    "--workers 1",
    "corpus": "corpus {corpus} --frames",
    "encode": "encode {corpus} --model {model} -o {out}",
    "queries": "queries tworoom --corpus {corpus} -o {out} --goal-distance 5 --count 2",
    "build": "build {latents} -o {out} --workers 1",
    "build-lengths": "build {rows_only} -o {out} --episode-lengths {lengths}",
    "build-reach": "build {latents} -o {out} --pricing reach --corpus {corpus} "
    "--model {model}",
    "inspect": "inspect {graph}",
    "route": "route {graph} --from 0 --to 5 --corpus {corpus} --storyboard {picture}",
    "evaluate": f"evaluate {TWOROOM} --graph {{graph}} {PLANNED}",
    "sweep": f"sweep {TWOROOM} --graph {{graph}} {PLANNED} --plan-blocks 1 "
    "--waypoint-budget 4 --planner-seed 1",
    "hi-lewm": f"evaluate {TWOROOM} --method hi-lewm --macro {{macro}} {PLANNED}",
    "train": "train tworoom --corpus {corpus} -o {model_out} --steps 1 --batch-size 2",
    "train-init": "train tworoom --corpus {corpus} -o {model_out} --init {model} "
    "--steps 1 --batch-size 2",
    "train-macro": f"train-macro {TWOROOM} --latents {{latents}} -o {{model_out}} "
    "--epochs 1",
    "report": "report {rows} -o {out}",
    "reproduce": "reproduce {rows}",
    "rerun": f"rerun {TWOROOM} -o {{out}} --goal-distance 25 --first 1 "
    "--planner-seed 7",
    "saturation": "saturation {latents} -o {out} --num-samples 10",
    "residual": f"residual {TWOROOM} --latents {{latents}} -o {{out}} --method random "
    "--count 1",
    "re-entry": "study re-entry {rows}",
    "studies": "study --results {folder}",
    "offline-cost": f"study offline-cost {TWOROOM} --latents {{latents}} -o {{out}}",
    "corpus-size": f"study corpus-size {TWOROOM} --graph {{graph}} {PLANNED} "
    "--share 50",
    "micro-planner": f"study micro-planner {TWOROOM} --fine-tuned {{model}} --graph "
    f"{{graph}} {PLANNED} --method flat",
    "bench": "bench table --latents {latents} -o {out}",
}
OUTPUTS = ("out", "model_out", "picture")


def campaign(seed: int, seconds: float, most: int = 10**9) -> dict[str, int]:
    """Return counts: tries, and what came of them.

    Args:
        seed: Of verbs and paths.
        seconds: How long to go on.
        most: Number of tries.
    """
    return in_fresh_process(__file__, seed, seconds, most)


def make_files(folder):
    """Make a small one of everything that verbs read; return the paths by name."""
    files = {
        "corpus": folder / "c.h5",
        "model": "lewm-small-tworoom",
        "macro": "macro-lewm-small-tworoom",
        "latents": folder / "z.latents",
        "rows_only": folder / "z.npy",
        "lengths": folder / "lengths.txt",
        "graph": folder / "g.metro",
        "queries": folder / "q.csv",
        "rows": folder / "r.jsonl",
        "folder": folder / "results",
    }
    commands = [
        "record tworoom -o {corpus} --episodes 6 --image-size 32 --steps 40 "
        "--workers 1",
        "encode {corpus} --model {model} -o {latents}",
        "build {latents} -o {graph}",
        "queries tworoom --corpus {corpus} -o {queries} --goal-distance 6 --count 2",
        "evaluate tworoom --corpus {corpus} --model {model} --graph {graph} "
        "--queries {queries} --goal-distance 6 --first 1 -o {rows}",
    ]
    for command in commands:
        log = folder / "log"
        words = [word.format(**files) for word in command.split()]
        assert end(start(partial(run, words), log)) == 0, log.read_text()
        log.unlink()
    import metro

    latents = metro.load(files["latents"])
    np.save(files["rows_only"], latents.z)
    np.savetxt(files["lengths"], latents.episode_lengths, fmt="%d")
    files["folder"].mkdir()
    shutil.copy(files["rows"], files["folder"])
    return files


def run(words):
    """Run the command line in this process."""
    from metro.cli import main

    sys.argv = ["metro", *map(str, words)]
    main()


def wrong_input(rng, folder, right):
    """Return a path of something that is not what is read there."""
    made = folder / f"made{Path(right).suffix or '.h5'}"
    match rng.randrange(11):
        case 0:
            os.mkfifo(made)
        case 1:
            made.symlink_to(rng.choice(("/dev/zero", "/dev/full", "/dev/stdin")))
        case 2:
            return rng.choice(("/dev/zero", "/dev/null", "/proc/self/mem", "/proc"))
        case 3:
            made.symlink_to(rng.choice((made, folder / "gone")))
        case 4:
            made.mkdir()
        case 5:
            made.write_bytes(rng.choice((b"", b"{", b"\0" * 999, rng.randbytes(999))))
        case 6:
            others = [path for path in folder.parent.iterdir() if path != folder]
            made.symlink_to(rng.choice(others))
        case 7:
            return rng.choice(("", ".", "/", "x" * 300, "a\nb", "~", "\udcff.h5"))
        case 8:
            return Path(right) / "inside"
        case 9 if Path(right).is_dir():
            shutil.copytree(right, made)
            file = rng.choice(sorted(made.iterdir()))
            file.unlink()
            rng.choice((os.mkfifo, os.mkdir, lambda _: None))(file)
        case _ if Path(right).is_file():
            content = Path(right).read_bytes()
            made.write_bytes(content[: rng.randrange(len(content))])
    return made


def wrong_output(rng, folder, name):
    """Return a path that cannot be written, or must not."""
    suffix = {"model_out": ".safetensors", "picture": ".png"}.get(name, ".out")
    made = folder / f"new{suffix}"
    match rng.randrange(9):
        case 0:
            return f"/proc/new{suffix}"
        case 1:
            return f"/sys/deep/new{suffix}"
        case 2:
            (folder / "file").write_bytes(b"")
            return folder / "file" / f"new{suffix}"
        case 3:
            made.mkdir()
            (made / "mine").write_text("kept")
        case 4:
            os.mkfifo(made)
        case 5:
            made.symlink_to(rng.choice(("/dev/full", "/dev/null", made)))
        case 6:
            return folder / ("x" * 300 + suffix)
        case 7:
            return rng.choice(("", ".", "/", "/dev/full", "/dev/null", "\udcff.x"))
        case _:
            made.symlink_to("/proc/gone/new")
    return made


def work(words, home):
    """Run a command within limits, in a folder of its own."""
    os.chdir(home)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(4 * SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    run(words)


def judge(code, said, spent):
    """Return a word for how a command ended."""
    lines = [line for line in said.splitlines() if line.strip()]
    if code in (-signal.SIGALRM, -signal.SIGXCPU, -signal.SIGKILL):
        return "hangs"
    if code < 0:
        return "signals"
    if "Traceback" in said or "Errno" in said or code not in (0, 1, 2):
        return "untidy"
    if code == 1 and not (lines and lines[-1].startswith("metro: ")):
        return "untidy"
    if code and spent > REFUSES_IN:
        return "slow"
    return "clean" if code else "accepted"


def one_try(rng, files):
    """Run one verb with one wrong path."""
    verb = rng.choice(list(VERBS))
    folder = Path(tempfile.mkdtemp(dir=files["corpus"].parent))
    outputs = {
        "out": folder / "right.jsonl",
        "model_out": folder / "right.safetensors",
        "picture": folder / "right.png",
    }
    given = files | outputs
    names = [name for name in given if f"{{{name}}}" in VERBS[verb]]
    wrong = rng.choice(names)
    if wrong in OUTPUTS:
        given[wrong] = wrong_output(rng, folder, wrong)
    else:
        given[wrong] = wrong_input(rng, folder, given[wrong])
    words = [word.format(**given) for word in VERBS[verb].split()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = end(start(partial(work, words, folder), folder / "log"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    said = (folder / "log").read_bytes().decode(errors="replace")
    word = judge(code, said, spent)
    if word not in ("clean", "accepted") or VERBOSE:
        shown = said.strip().splitlines()[-1:] if VERBOSE else [said[-1500:]]
        sys.stderr.write(f"{word} {code} {spent:.1f} s: {words}\n{shown}\n")
    shutil.rmtree(folder, ignore_errors=True)
    return Counter({word: 1})


VERBOSE = bool(os.environ.get("METRO_FUZZ_VERBOSE"))


def prepare():
    """Import once what verbs import."""
    from metro.compat import import_swm
    from metro.envs.cpu_determinism import common_arithmetic

    os.environ.update(common_arithmetic())
    import_swm()
    import torch

    # Threads do not survive a fork.
    torch.set_num_threads(1)
    import metro.cli
    import metro.data.collect.record
    import metro.evaluation.run
    import metro.models.train  # noqa: F401


if __name__ == "__main__":
    seed, seconds, most = map(float, sys.argv[1:4])
    prepare()
    home = Path(tempfile.mkdtemp(prefix="metro-verbs-"))
    began = time.monotonic()
    files = make_files(home)
    sys.stderr.write(f"prepared in {time.monotonic() - began:.1f} s\n")
    repeat(partial(one_try, files=files), int(seed), seconds, int(most))
    with contextlib.suppress(OSError):
        shutil.rmtree(home)

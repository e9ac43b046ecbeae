"""Processes that are killed at random moments: what the campaigns on faults share.

A campaign runs in a fresh process, which imports everything once and then forks a child
for every try. The children are cheap, and the caller's threads do not get in the way.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

SET_UP = 600
"""Seconds."""


def in_memory():
    """Return where temporary files go: a disk would mostly be waited for."""
    shared = "/dev/shm"
    has_room = os.path.isdir(shared) and shutil.disk_usage(shared).free > 4 << 30
    return {"TMPDIR": shared} if has_room else {}


def in_fresh_process(script, *arguments):
    """Return the counts that a script prints as JSON in its last line.

    The last two arguments are seconds and a number of tries. A script that goes on for
    longer than twice its seconds, and some minutes to set up, has failed: kernels may
    have to be compiled, beside everything else that a machine does.
    """
    source = Path(__file__).parents[2] / "src"
    paths = [str(source), os.environ.get("PYTHONPATH", "")]
    # Imported with stable-worldmodel; children of ours never use it.
    quiet = {"PYTHONWARNINGS": "ignore:lancedb fork support:RuntimeWarning"}
    script = subprocess.Popen(
        [sys.executable, script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | quiet | in_memory(),
        start_new_session=True,
    )
    try:
        shown, _ = script.communicate(timeout=2 * float(arguments[-2]) + SET_UP)
        return json.loads(shown.splitlines()[-1])
    except (IndexError, ValueError):
        return {"tries": 0, "failed": 1}
    except subprocess.TimeoutExpired:
        # Its children would keep the pipes open.
        os.killpg(script.pid, signal.SIGKILL)
        script.communicate()
        sys.stderr.write(f"{arguments} took too long\n")
        return {"tries": 0, "failed": 1}


def start(work, log):
    """Run ``work()`` in a forked child; return its process number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        stream = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(stream, 1)
        os.dup2(stream, 2)
        work()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(bool(error.code))
    except BaseException:
        traceback.print_exc()
        code = 70
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def end(child):
    """Wait for a child; return its exit code, negative for a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def kill_after(seconds, *children):
    """Kill children that are still at work after some time; return the exit codes."""
    time.sleep(seconds)
    for child in children:
        os.kill(child, signal.SIGKILL)
    return [end(child) for child in children]


def kill_when(is_time, *children):
    """Kill children once something has happened, or 20 s have passed."""
    until = time.monotonic() + 20
    while not is_time() and time.monotonic() < until:
        time.sleep(0.001)
    return kill_after(0, *children)


def repeat(one_try, seed, seconds, most):
    """Add up the counts of tries until the time or their number is over; print them."""
    started, counts = time.monotonic(), Counter(tries=0)
    rng = random.Random(seed)
    while counts["tries"] < most and time.monotonic() - started < seconds:
        counts["tries"] += 1
        counts.update(one_try(rng))
    sys.stdout.write(json.dumps(counts) + "\n")

"""Worker processes: every task has one result, whatever dies."""

import multiprocessing
import os
import subprocess
import sys
import time

import pytest

from metro.errors import WorldError
from metro.pool import run_tasks
from pool_makers import (
    add,
    complain,
    die_once,
    divide,
    make_function,
    open_number,
    refuse,
    repeat_bytes,
)


def run(work, tasks, **settings):
    """Return the results of tasks in two processes, whose context is the number 10."""
    given = {"open_context": open_number, "arguments": (10,), "workers": 2} | settings
    return list(run_tasks(work, tasks, **given))


def test_every_task_has_one_result():
    """In any order, computed with the context that each process opened."""
    assert sorted(run(add, range(5))) == [10, 11, 12, 13, 14]
    assert run(add, []) == []


def test_a_task_that_ends_its_process_is_marked_and_the_others_continue():
    """Also those that were under way in the same pool."""
    tasks = [0, None, 2, 3, 4, 5]
    results = run(add, tasks, if_lost=lambda task: -1)
    assert sorted(results) == [-1, 10, 12, 13, 14, 15]


def test_a_lost_task_is_an_error_by_default():
    """It says what the user can do."""
    with pytest.raises(WorldError, match="died without an error message.*try fewer"):
        run(add, [None])


def test_an_error_of_a_task_reaches_the_caller():
    """With its own type and message."""
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        run(divide, [0])


def test_an_error_that_cannot_be_sent_is_told_in_its_words():
    """Errors of other libraries do not always survive pickling."""
    with pytest.raises(RuntimeError, match="^Unportable: 3 of them$"):
        run(complain, [3])


def test_a_result_that_cannot_be_sent_is_an_error():
    """And not a process that died."""
    with pytest.raises(Exception, match=r"pickle .*<lambda>|Can't get local object"):
        run(make_function, [3])


def test_a_task_that_died_once_has_its_result(tmp_path):
    """It runs again when all others are done, in a new process."""
    tasks = [None, str(tmp_path / "tried"), *range(4)]
    found = run(die_once, tasks, open_context=str, arguments=())
    assert found[-1] == "again"
    assert sorted(found[:-1], key=str) == [0, 1, 2, 3, None]


def test_an_interruption_ends_processes_in_the_middle_of_a_result():
    """Results of any size: half of one is left in the pipe, and nobody waits for it."""
    for _ in range(3):
        results = run_tasks(repeat_bytes, [5_000_000] * 20, open_context=str, workers=2)
        assert len(next(results)) == 5_000_000
        started = time.monotonic()
        results.close()
        assert time.monotonic() - started < 20
    assert multiprocessing.active_children() == []


def test_an_error_of_opening_reaches_the_caller():
    """A context that cannot be opened says why."""
    with pytest.raises(ValueError, match="(?m)^no model$"):
        run(add, [1], open_context=refuse, arguments=("no model",))


def test_a_process_that_dies_at_its_start_is_an_error():
    """Before it has anything to do there is nothing to mark."""
    with pytest.raises(WorldError, match="^A worker process died before its first"):
        run(add, [1], open_context=os._exit, arguments=(1,))


def test_a_script_without_a_main_guard_is_an_error(tmp_path):
    """Each worker imports the script again and ends there; nobody waits forever."""
    script = tmp_path / "script.py"
    script.write_text(
        "import operator\nfrom metro.pool import run_tasks\n"
        "print(list(run_tasks(operator.add, [1], open_context=int, workers=1)))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "died before its first task" in done.stderr


def test_workers_end_when_their_parent_is_killed(tmp_path):
    """Nobody else would end them: they hold the pipe open until then."""
    script = tmp_path / "script.py"
    script.write_text(
        "import time\nfrom metro.pool import run_tasks\n"
        "def pause(context, task):\n    print('begun', flush=True); time.sleep(60)\n"
        "if __name__ == '__main__':\n"
        "    print(list(run_tasks(pause, [1], open_context=int, workers=1)))\n"
    )
    command = [sys.executable, script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout.readline() == "begun\n"
        parent.kill()
        assert parent.communicate(timeout=20) == ("", None)

"""Functions that worker processes import by name in tests of `metro.pool`."""

import os


def open_number(number):
    """Return the context of a worker: a number."""
    return number


def refuse(reason):
    """Fail to open a context."""
    raise ValueError(reason)


def add(context, task):
    """Return the sum of context and task; a task of None ends its process."""
    if task is None:
        os._exit(9)
    return context + task


def divide(context, task):
    """Return context over task."""
    return context / task


class Unportable(Exception):
    """Cannot be made again from its text alone."""

    def __init__(self, number, of_what):
        super().__init__(f"{number} {of_what}")


def complain(context, task):
    """Raise what cannot be unpickled."""
    raise Unportable(task, "of them")


def make_function(context, task):
    """Return what cannot be pickled."""
    return lambda: task


def die_once(context, task):
    """End the process at the first try of a task that is a path; return others."""
    if not isinstance(task, str):
        return task
    if not os.path.exists(task):
        with open(task, "w"):
            os._exit(9)
    return "again"


def repeat_bytes(context, task):
    """Return so many bytes."""
    return b"x" * task


def die_at_once(*arguments):
    """End the process before anything else, in place of what workers begin with."""
    os._exit(9)

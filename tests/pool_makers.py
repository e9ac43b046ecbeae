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

"""Ctrl-C that waits until the work is in a state worth keeping."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_deferred() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether Ctrl-C was pressed inside the block.

    The second Ctrl-C interrupts at once. Outside the main thread nothing is deferred:
    only there can signals be handled.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed: list[int] = []
    # Put back as it was, not as the default: a host program may have its own.
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: FrameType | None) -> None:
        # A step that hangs must still be stoppable.
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)

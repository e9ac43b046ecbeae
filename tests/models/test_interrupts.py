"""Laws of Ctrl-C that waits."""

import signal
import threading

import pytest

from metro.models.interrupts import interrupts_deferred


def press():
    signal.raise_signal(signal.SIGINT)


def test_the_first_interrupt_is_only_noted():
    """The work goes on, and learns that it should stop."""
    with interrupts_deferred() as interrupted:
        assert not interrupted()
        press()
        assert interrupted()


def test_the_second_interrupt_stops_at_once():
    """A step that hangs can still be left."""
    with interrupts_deferred():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


@pytest.mark.parametrize("error", [None, ValueError])
def test_the_handler_of_before_is_put_back(error):
    """After the block, or an error in it, a host program's own handler works again."""
    heard = []
    before = signal.signal(signal.SIGINT, lambda *_: heard.append("host"))
    try:
        try:
            with interrupts_deferred():
                press()
                if error is not None:
                    raise error
        except ValueError:
            pass
        assert heard == []
        press()
        assert heard == ["host"]
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_leave_signals_alone():
    """Where signals cannot be handled the block runs all the same, never stopped."""
    found, before = [], signal.getsignal(signal.SIGINT)

    def work():
        with interrupts_deferred() as interrupted:
            found.append((interrupted(), signal.getsignal(signal.SIGINT) is before))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(False, True)]

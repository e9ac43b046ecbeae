"""Errors are told in one line, whatever they quote."""

import errno

import pytest

from metro.errors import one_line


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("two\nlines."), "two lines"),
        (ValueError(), "ValueError"),
        (OSError(errno.ENOENT, "No such file", "a/b"), "No such file: a/b"),
        (OSError(errno.EIO, "first\nsecond"), "first second"),
        (OSError("a text alone"), "a text alone"),
    ],
)
def test_an_error_is_one_line(error, told):
    """Without line breaks, without the number of a system's error."""
    assert one_line(error) == told


def test_the_middle_of_a_long_text_is_left_out():
    """A damaged file may quote itself to any length."""
    told = one_line(ValueError("start " + "x" * 10**6 + " end"))
    assert told.startswith("start ")
    assert told.endswith(" end")
    assert len(told) < 300

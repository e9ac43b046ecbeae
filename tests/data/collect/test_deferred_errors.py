"""The file that HDF5 writes to: it fails once, and only when it is asked."""

import errno

import pytest

from metro.data.collect.deferred_errors import DeferredErrorFile


class FullDisk:
    """A stream that takes some bytes at a time, and has no room after a limit."""

    def __init__(self, room):
        self.taken, self._room = b"", room

    def write(self, block):
        """Take three bytes at most."""
        if len(self.taken) >= self._room:
            raise OSError(errno.ENOSPC, f"full after {len(self.taken)}")
        self.taken += bytes(block[:3])
        return len(block[:3])

    def truncate(self, size):
        """Refuse."""
        raise OSError(errno.ENOSPC, f"no room for {size}")

    def close(self):
        """Do nothing."""


@pytest.fixture
def opened(tmp_path):
    """Return a function that opens a file whose disk has that much room."""

    def open_with(room):
        file = DeferredErrorFile(tmp_path / "file")
        file._stream.close()
        file._stream = FullDisk(room)
        return file

    return open_with


def test_what_is_written_is_read_back(tmp_path):
    """Bytes that were written come back from the place that was sought."""
    with DeferredErrorFile(tmp_path / "file") as file:
        file.write(memoryview(b"abcdef"))
        file.seek(2)
        assert file.read(3) == b"cde"
        assert file.tell() == 5
    assert (tmp_path / "file").read_bytes() == b"abcdef"


def test_a_write_in_pieces_is_whole(opened):
    """A block that the system takes in pieces is written to its end."""
    file = opened(100)
    assert file.write(memoryview(b"0123456789")) == 10
    assert file._stream.taken == b"0123456789"


def test_a_failing_write_looks_like_success(opened):
    """The writer is told the full length, and the failure waits for `check`."""
    file = opened(3)
    assert file.write(memoryview(b"0123456789")) == 10
    with pytest.raises(OSError, match="full after 3"):
        file.check()


def test_nothing_is_written_after_a_failure(opened):
    """After the first failure later blocks are dropped, though there were room."""
    file = opened(3)
    file.write(memoryview(b"012345"))
    file._stream._room = 100
    assert file.write(memoryview(b"more")) == 4
    assert file._stream.taken == b"012"


def test_the_first_failure_is_the_one_told(opened):
    """A later failure does not hide the first one."""
    file = opened(0)
    file.write(memoryview(b"0"))
    assert file.truncate(7) == 7
    with pytest.raises(OSError, match="full after 0"):
        file.check()


def test_leaving_tells_the_failure(opened):
    """A file that failed cannot be left as if it were whole."""
    file = opened(0)
    with pytest.raises(OSError, match="full after 0"), file:
        file.write(memoryview(b"0"))


def test_an_error_of_the_block_is_not_replaced(opened):
    """An error inside the block reaches the caller, not the failure of the file."""

    def write_and_fail(file):
        with file:
            file.write(memoryview(b"0"))
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        write_and_fail(opened(0))

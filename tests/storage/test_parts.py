"""Finished parts are kept, whole, as long as they answer the same question."""

import os

import numpy as np
import pytest

from metro.errors import StorageError
from metro.storage import parts as stored
from metro.storage.parts import Parts


def part(number):
    return {"z": np.full((2, 3), number), "frame": np.arange(2)}


def found(parts):
    return sorted(kept["z"][:, 0].tolist() for kept in parts.finished())


def test_parts_that_wait_become_one_file(tmp_path):
    """The next ones become another."""
    parts = Parts(tmp_path / "parts", "one")
    parts.add(part(0))
    parts.add(part(1))
    assert found(parts) == []
    parts.flush()
    parts.add(part(2))
    parts.flush()
    assert found(Parts(tmp_path / "parts", "one")) == [[0, 0, 1, 1], [2, 2]]


def test_two_stores_do_not_overwrite_each_other(tmp_path):
    """Two processes that do the same work keep both their parts."""
    for numbers in ((0, 1), (1, 2), (0, 1)):
        parts = Parts(tmp_path / "parts", "one")
        for number in numbers:
            parts.add(part(number))
            parts.flush()
    assert found(parts) == [[0, 0], [1, 1], [2, 2]]


@pytest.mark.parametrize("seed", range(20))
def test_damaged_parts_are_made_again(tmp_path, seed):
    """Cut short or altered anywhere: one warning, and the other parts are kept."""
    rng = np.random.default_rng(seed)
    parts = Parts(tmp_path / "parts", "one")
    for number in range(3):
        parts.add(part(number))
        parts.flush()
    files = sorted((tmp_path / "parts").glob("part-*.npz"))
    for file in files[:2]:
        content = bytearray(file.read_bytes())
        place = int(rng.integers(len(content)))
        if rng.random() < 0.5:
            del content[place:]
        else:
            content[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(content)
    with pytest.warns(RuntimeWarning, match="^2 of the parts in .* made again") as said:
        kept = found(parts)
    assert (len(kept), len(said)) == (1, 1)
    assert found(parts) == kept


def test_a_damaged_key_means_other_parts(tmp_path):
    """Nothing is believed that cannot be read."""
    parts = Parts(tmp_path / "parts", "one")
    parts.add(part(0))
    parts.flush()
    (tmp_path / "parts" / "key.txt").write_bytes(b"\xff")
    parts.open("one")
    assert found(parts) == []


def test_a_place_that_cannot_be_written_is_one_error(tmp_path):
    """Such as a file where the folder should be."""
    (tmp_path / "file").write_text("")
    parts = Parts(tmp_path / "file" / "parts", "one")
    parts.add(part(0))
    with pytest.raises(StorageError, match=r"^[^\n[]*cannot be written: Not a dir"):
        parts.flush()


def test_parts_of_another_key_are_thrown_away(tmp_path):
    """Whether the key is given at once or later, and if there is no key at all."""
    for change in ("open", "construct", "remove"):
        parts = Parts(tmp_path / "parts", "one")
        parts.add(part(0))
        parts.flush()
        assert len(found(parts)) == 1
        if change == "remove":
            (tmp_path / "parts" / "key.txt").unlink()
            parts.open("one")
        elif change == "open":
            parts.open("two")
        else:
            parts = Parts(tmp_path / "parts", "two")
        assert found(parts) == []
        assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_a_context_writes_what_waits_however_it_is_left(tmp_path, error):
    """Ctrl-C and errors lose nothing that was finished."""

    def stop_early():
        with Parts(tmp_path / "parts", "one") as parts:
            parts.add(part(0))
            raise error

    with pytest.raises(error):
        stop_early()
    assert found(Parts(tmp_path / "parts", "one")) == [[0, 0]]


def test_parts_are_written_when_it_is_time(tmp_path, monkeypatch):
    """A kill loses the parts of the last seconds only."""
    monkeypatch.setattr(stored, "_EVERY_SECONDS", 0.0)
    parts = Parts(tmp_path / "parts", "one")
    for number in range(3):
        parts.add(part(number))
        assert len(found(parts)) == number + 1


def test_nothing_is_left_when_all_is_done(tmp_path):
    """Without a part no directory is made; remove deletes it."""
    parts = Parts(tmp_path / "parts", "one")
    parts.flush()
    assert not (tmp_path / "parts").exists()
    parts.add(part(0))
    parts.flush()
    parts.remove()
    parts.remove()
    assert not (tmp_path / "parts").exists()


def test_a_pipe_among_the_parts_is_refused(tmp_path):
    """Reading it would wait; and what is no file is not deleted."""
    parts = Parts(tmp_path / "parts", "key")
    parts.add({"frames": np.arange(2)})
    parts.flush()
    os.mkfifo(tmp_path / "parts" / "part-0.npz")
    with pytest.raises(StorageError, match="part-0.npz is a pipe"):
        list(Parts(tmp_path / "parts", "key").finished())


def test_what_is_whole_and_no_archive_is_one_line(tmp_path):
    """A digest that fits says nothing about what it is of."""
    path = tmp_path / "part-0.npz"
    path.write_bytes(stored.with_digest(b"text"))
    with pytest.raises(StorageError, match="part-0.npz cannot be read"):
        stored.read_arrays(path)

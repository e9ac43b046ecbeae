"""Only regular files are opened, and damage becomes one line."""

import os
from collections.abc import Mapping
from typing import Any

import h5py
import pytest

from metro.errors import CorpusError, ModelError, StorageError
from metro.files import has_type, own_datasets, reading, require_regular_file


def test_a_file_and_a_link_to_it_are_regular(tmp_path):
    """Both have an end."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    require_regular_file(tmp_path / "file")
    require_regular_file(tmp_path / "link")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pipe", "is a pipe, not a file. Give the path of a file."),
        ("zero", "is a device, not a file. Give the path of a file."),
        ("folder", "is a folder, not a file. Give the path of a file."),
        ("dangling", "cannot be read: No such file or directory."),
        ("loop", "cannot be read: Too many levels of symbolic links."),
    ],
)
def test_anything_else_is_refused_at_once(tmp_path, name, message):
    """A pipe would wait for ever, a device would never end."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "dangling").symlink_to(tmp_path / "gone")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(CorpusError) as error:
        require_regular_file(tmp_path / name, CorpusError)
    assert str(error.value) == f"{tmp_path / name} {message}"


def test_a_name_with_a_zero_byte_is_no_name():
    """The operating system refuses it with a ValueError."""
    with pytest.raises(StorageError, match="is no file name"):
        require_regular_file("a\0b")


@pytest.mark.parametrize("error", [KeyError("x"), OSError("a\nb"), RecursionError()])
def test_damage_is_one_line(error):
    """With the name of the file and the cure."""
    with pytest.raises(ModelError) as raised, reading("x", ModelError, "Copy it."):
        raise error
    assert str(raised.value).startswith("x cannot be read: ")
    assert str(raised.value).endswith(". Copy it.")
    assert "\n" not in str(raised.value)


def test_our_own_errors_and_bugs_pass():
    """What already says what is wrong is not wrapped; a wrong name is our own bug."""
    for error in (CorpusError("said"), NameError("bug")):
        with pytest.raises(type(error)) as raised, reading("x", ModelError, ""):
            raise error
        assert raised.value is error


@pytest.mark.parametrize(
    ("value", "kind", "fits"),
    [
        (1, int, True),
        (True, int, False),
        (1, float, True),
        ("1", float, False),
        (None, str | None, True),
        ((1, 2), tuple[int, ...], True),
        ((1, "2"), tuple[int, ...], False),
        ({"a": 1}, Mapping[str, int], True),
        ({"a": []}, Mapping[str, int], False),
        ([], Mapping[str, Any], False),
        ([], Any, True),
    ],
)
def test_values_are_compared_with_annotations(value, kind, fits):
    """As in a dataclass that a file is read into."""
    assert has_type(value, kind) == fits


@pytest.mark.parametrize(
    "kind", ["external", "nested", "virtual", "storage", "unwritten", "name"]
)
def test_datasets_that_are_elsewhere_or_nowhere_are_refused(tmp_path, kind):
    """Only what lies in the file itself is read."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["words"] = ["a"]
        if kind == "external":
            file["z"] = h5py.ExternalLink("/etc/passwd", "z")
        elif kind == "nested":
            # Only a link in a group leads out; one at the top leads there.
            file["a/out"] = h5py.ExternalLink("/etc/passwd", "/")
            file["z"] = h5py.SoftLink("/a/out/z")
        elif kind == "virtual":
            layout = h5py.VirtualLayout((1,), "f8")
            layout[:] = h5py.VirtualSource("/etc/passwd", "z", (1,))
            file.create_virtual_dataset("z", layout)
        elif kind == "storage":
            raw = [(str(tmp_path / "raw"), 0, 8)]
            file.create_dataset("z", 1, "f8", external=raw)
        elif kind == "unwritten":
            file.create_dataset("z", 2**60, "u1", chunks=(1,))
        else:
            file[b"\xff"] = [1.0]
        with pytest.raises(StorageError, match="^x: .*(h5repack|Copy it)"):
            own_datasets("x", file, StorageError, "Copy it.")


@pytest.mark.parametrize(
    ("chunks", "rows", "missing"),
    [
        (None, 0, "all"),
        ((10,), 0, "100.00%"),
        ((10,), 60, "40.00%"),
        ((10,), 95, ""),
        ((30,), 95, ""),
        (None, 60, ""),
    ],
)
def test_what_was_never_written_is_no_data(tmp_path, chunks, rows, missing):
    """HDF5 would give zeros: a recorder that died must not look like a dark room."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        dataset = file.create_dataset("x", shape=(100,), dtype="f4", chunks=chunks)
        if rows:
            dataset[:rows] = 1
    with h5py.File(tmp_path / "x.h5") as file:
        if not missing:
            assert list(own_datasets("x.h5", file, CorpusError, "")) == ["x"]
            return
        with pytest.raises(CorpusError, match=f"^x.h5: {missing} of x was never writ"):
            own_datasets("x.h5", file, CorpusError, "Record it again.")


def test_links_within_a_file_are_followed(tmp_path):
    """What they lead to lies in the same file."""
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["a/z"] = [1.0]
        file["z"] = h5py.SoftLink("/a/z")
        assert list(own_datasets("x", file, StorageError, "")) == ["z"]


def test_what_an_error_quotes_is_shortened():
    """A damaged file may hold a name of any length."""
    with pytest.raises(CorpusError) as raised, reading("x", CorpusError, ""):
        raise CorpusError(f"There is no {'x' * 5_000}.")
    assert len(str(raised.value)) < 400

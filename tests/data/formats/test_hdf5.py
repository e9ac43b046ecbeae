"""Laws of `metro.data.formats.hdf5`."""

import os
import subprocess
import sys

import h5py
import hdf5plugin
import pytest
from corpus_makers import same, write

from metro.data.corpus import open_corpus
from metro.errors import CorpusError


@pytest.fixture
def released(columns, tmp_path):
    """A file compressed as the released corpora are, HDF5 filter 32001."""
    with h5py.File(tmp_path / "released.h5", "w") as file:
        for name, values in columns.items():
            file.create_dataset(name, data=values, **hdf5plugin.Blosc())
    return tmp_path / "released.h5"


def test_blosc_is_read(released, columns):
    """Pixels and all other columns."""
    with h5py.File(released) as file:
        assert file["pixels"].id.get_create_plist().get_filter(0)[0] == 32001
    with open_corpus(released) as corpus:
        assert same(corpus, columns)


def test_blosc_without_its_library_names_it(released):
    """In a process of its own: filters cannot be taken back."""
    program = f"""
import sys
sys.modules["hdf5plugin"] = None
from metro.data.corpus import open_corpus
try:
    open_corpus({str(released)!r})
except Exception as error:
    print(type(error).__name__, error, sep=": ")
"""
    environment = os.environ | {"HDF5_PLUGIN_PATH": str(released.parent)}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.stdout == (
        f"MissingExtra: {released} is compressed with blosc (HDF5 filter 32001), which "
        "h5py alone cannot read: pip install hdf5plugin\n"
    ), ran.stderr


@pytest.mark.parametrize("kind", ["link", "storage", "virtual"])
def test_what_lies_in_another_file_is_not_followed(columns, tmp_path, kind):
    """A recording cannot make metro read other files."""
    other = write(tmp_path / "other.h5", {"proprio": columns.pop("proprio")})
    path = write(tmp_path / "x.h5", columns)
    with h5py.File(path, "a") as file:
        if kind == "link":
            file["proprio"] = h5py.ExternalLink(other.name, "proprio")
        elif kind == "storage":
            raw = str(tmp_path / "raw")
            file.create_dataset("proprio", (12, 2), "f8", external=[(raw, 0, 192)])
        else:
            layout = h5py.VirtualLayout((12, 2), "f8")
            layout[:] = h5py.VirtualSource(str(other), "proprio", (12, 2))
            file.create_virtual_dataset("proprio", layout)
    with pytest.raises(CorpusError, match="x.h5: proprio lies in another file"):
        open_corpus(path)


@pytest.mark.parametrize("settings", ["[1]", "{", "[" * 10_000, '{"benchmark": 3}', 7])
def test_settings_that_are_no_settings_are_refused(columns, tmp_path, settings):
    """In one line that names the file."""
    path = write(tmp_path / "x.h5", columns)
    with h5py.File(path, "a") as file:
        file.attrs["metro"] = settings
    with pytest.raises(CorpusError, match="x.h5"):
        open_corpus(path)


def test_links_to_nothing_and_groups_are_no_columns(columns, tmp_path):
    """A link that leads nowhere is damage; groups and texts are not looked at."""
    path = write(tmp_path / "x.h5", columns)
    with h5py.File(path, "a") as file:
        file.create_group("more")
        file["words"] = ["walk"] * 12
    with open_corpus(path) as corpus:
        assert corpus.columns == ["action", "pixels", "proprio"]
    with h5py.File(path, "a") as file:
        file["gone"] = h5py.SoftLink("/nowhere")
    with pytest.raises(CorpusError, match="x.h5 cannot be read"):
        open_corpus(path)

"""Laws of `metro.data.formats.hdf5`."""

import os
import subprocess
import sys

import h5py
import hdf5plugin
import pytest
from corpus_makers import same

from metro.data.corpus import open_corpus


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

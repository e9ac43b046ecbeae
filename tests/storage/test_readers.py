"""Latents from the files people have."""

import os
import re
import sys
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import h5py
import numpy as np
import pytest

import metro
from metro.errors import LatentsError, MissingExtra, StorageError
from metro.storage.readers import read_latents

Z = np.arange(12, dtype=np.float32).reshape(6, 2)


def write(path, z=Z, **columns):
    if path.suffix == ".npz":
        np.savez(path, **({"z": z} if z is not None else {}), **columns)
    elif path.suffix == ".npy":
        np.save(path, z)
    else:
        with h5py.File(path, "w") as file:
            for name, column in ({"latents": z} | columns).items():
                file[name] = column
    return path


@pytest.mark.parametrize("suffix", [".npz", ".h5", ".hdf5"])
@pytest.mark.parametrize(
    "columns",
    [
        {"episode_lengths": [4, 2]},
        {"ep_len": np.array([4, 2], dtype=np.int32), "pixels": np.zeros(6)},
        {"episode_offsets": [0, 4, 6]},
    ],
)
def test_rows_and_lengths_in_one_file(tmp_path, suffix, columns):
    """Both containers, lengths or offsets, other columns ignored."""
    latents = read_latents(write(tmp_path / f"a{suffix}", **columns))
    assert latents.digest == metro.Latents(Z, [0, 4, 6]).digest
    assert latents.provenance == {"latents": f"a{suffix}"}


def test_lengths_given_apart(tmp_path):
    """A number, a .npy file or a text file."""
    path = write(tmp_path / "z.npy")
    np.save(tmp_path / "lengths.npy", [4, 2])
    (tmp_path / "lengths.txt").write_text("4\n2\n")
    for lengths in ("lengths.npy", "lengths.txt"):
        latents = read_latents(path, str(tmp_path / lengths))
        assert latents.episode_offsets.tolist() == [0, 4, 6]
    assert read_latents(path, "3").episode_offsets.tolist() == [0, 3, 6]


def test_directories_of_ours(tmp_path, rooms, rooms_graph):
    """A .latents directory, or the latents inside a graph."""
    metro.save(rooms, tmp_path / "a.latents")
    metro.save(rooms_graph, tmp_path / "a.metro")
    assert read_latents(tmp_path / "a.latents").digest == rooms.digest
    assert read_latents(tmp_path / "a.metro").digest == rooms.digest


def test_directories_of_ours_are_checked(tmp_path, rooms):
    """A flipped byte is refused, and so are lengths beside those in the directory."""
    path = tmp_path / "a.latents"
    metro.save(rooms, path)
    with pytest.raises(LatentsError, match="give no --episode-lengths with it"):
        read_latents(path, "60")
    content = bytearray((path / "z.npy").read_bytes())
    content[-1] ^= 1
    (path / "z.npy").write_bytes(content)
    with pytest.raises(StorageError, match="z.npy is damaged .its sha256"):
        read_latents(path)


def test_what_is_missing_is_named(tmp_path):
    """No rows, no lengths, no file, another format."""
    path = write(tmp_path / "a.npz", z=None, pixels=np.zeros(3))
    message = f"{path} has none of z, latents, embeddings, emb; it has pixels."
    with pytest.raises(LatentsError, match=f"^{re.escape(message)}$"):
        read_latents(path)
    with pytest.raises(LatentsError, match=r"episodes end\. Give --episode-lengths\.$"):
        read_latents(write(tmp_path / "z.npy"))
    with pytest.raises(LatentsError, match=r"does not say where episodes end\. Add"):
        read_latents(write(tmp_path / "z.npz"))
    with pytest.raises(StorageError, match=r"b\.npz does not exist\.$"):
        read_latents(tmp_path / "b.npz")
    (tmp_path / "a.csv").write_text("1,2")
    with pytest.raises(
        StorageError, match="is not a format that metro reads. It reads"
    ):
        read_latents(tmp_path / "a.csv")


@pytest.mark.parametrize("suffix", [".npz", ".npy", ".h5"])
def test_broken_files(tmp_path, suffix):
    """Truncated or foreign content is a StorageError, not a traceback."""
    path = write(tmp_path / f"a{suffix}")
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(StorageError, match=f"a{suffix} cannot be read: "):
        read_latents(path, "3")


@pytest.mark.parametrize("suffix", [".npy", ".npz", "-packed.npz"])
def test_every_flipped_bit_is_told(tmp_path, suffix):
    """An error of ours in one line, or the same rows; never a traceback."""
    path = tmp_path / f"a{suffix}"
    if suffix == ".npy":
        np.save(path, Z)
    else:
        (np.savez if suffix == ".npz" else np.savez_compressed)(path, z=Z)
    whole, bits = path.read_bytes(), np.random.default_rng(0).integers(8, size=10_000)
    for place in range(min(len(whole), 128 if suffix == ".npy" else 10_000)):
        content = bytearray(whole)
        content[place] ^= 1 << bits[place]
        path.write_bytes(content)
        try:
            rows, message = read_latents(path, "6").z, ""
        except (StorageError, LatentsError) as error:
            rows, message = Z, str(error)
        assert "\n" not in message
        assert rows.size == Z.size


def test_lengths_with_a_damaged_header(tmp_path):
    """A file of lengths is treated like a file of rows."""
    np.save(tmp_path / "lengths.npy", [4, 2])
    content = bytearray((tmp_path / "lengths.npy").read_bytes())
    content[20] = ord("(")
    (tmp_path / "lengths.npy").write_bytes(content)
    with pytest.raises(StorageError, match="must hold one length per"):
        read_latents(write(tmp_path / "z.npy"), str(tmp_path / "lengths.npy"))


def test_what_only_looks_like_rows(tmp_path):
    """A .npy by another name, a single number, a group."""
    np.save(tmp_path / "z.npy", Z)
    (tmp_path / "z.npy").rename(tmp_path / "a.npz")
    with pytest.raises(StorageError, match="cannot be read: it is no .npz archive. "):
        read_latents(tmp_path / "a.npz", "6")
    for suffix in (".npz", ".npy", ".h5"):
        path = write(tmp_path / f"b{suffix}", z=np.float32(1))
        with pytest.raises(
            LatentsError, match=r"must have shape \[N, D\], got \(\)\.$"
        ):
            read_latents(path, "6")
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file.create_group("z")
    with pytest.raises(StorageError, match="cannot be read: z is no dataset"):
        read_latents(tmp_path / "c.h5", "6")
    with pytest.raises(StorageError, match="cannot be read: .*too long"):
        read_latents(tmp_path / ("x" * 300 + ".npz"))


def test_pickles_are_not_opened(tmp_path):
    """An array of objects would need pickle."""
    np.save(tmp_path / "a.npy", np.array([{}], dtype=object))
    with pytest.raises(StorageError, match="cannot be read: Object arrays"):
        read_latents(tmp_path / "a.npy", "1")


def test_wrong_lengths(tmp_path):
    """Lengths that do not cover the rows, are no numbers, or are not there."""
    path = write(tmp_path / "z.npy")
    with pytest.raises(LatentsError, match=r"^6 rows are no whole number of episodes"):
        read_latents(path, "4")
    (tmp_path / "lengths.txt").write_text("4\n1\n")
    with pytest.raises(LatentsError, match="run from 0 to the 6 rows .* got 0 to 5"):
        read_latents(path, str(tmp_path / "lengths.txt"))
    (tmp_path / "lengths.txt").write_text("four")
    with pytest.raises(StorageError, match="must hold one length per episode"):
        read_latents(path, str(tmp_path / "lengths.txt"))
    np.save(tmp_path / "lengths.npy", [[4.0, 2.0]])
    with pytest.raises(LatentsError, match="^Episode lengths must be a 1-d array of"):
        read_latents(path, str(tmp_path / "lengths.npy"))


def test_without_h5py(tmp_path, monkeypatch):
    """The extra to install is named."""
    path = write(tmp_path / "a.h5")
    monkeypatch.setitem(sys.modules, "h5py", None)
    message = f'Reading {path} needs the "h5" extra: pip install "metro-wm[h5]"'
    with pytest.raises(MissingExtra, match=f"^{re.escape(message)}$"):
        read_latents(path)


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_header_that_asks_for_memory_is_refused(tmp_path, suffix, compressed):
    """A shape is believed only if the file is long enough for it."""
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 2)}"
    text = header.ljust(117).encode() + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(80)
    path = tmp_path / f"a{suffix}"
    if suffix == ".npy":
        path.write_bytes(content)
    else:
        with ZipFile(path, "w", ZIP_DEFLATED if compressed else ZIP_STORED) as archive:
            archive.writestr("z.npy", content)
    with pytest.raises(StorageError, match="too short for its shape .1099511627776, 2"):
        read_latents(path, "2")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".h5"])
def test_what_has_no_end_is_not_read(tmp_path, suffix):
    """A pipe would wait for ever, a device would never end."""
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"device{suffix}").symlink_to("/dev/zero")
    for name, what in (("pipe", "a pipe"), ("device", "a device")):
        with pytest.raises(StorageError, match=f"is {what}, not a file"):
            read_latents(tmp_path / f"{name}{suffix}", "2")
    rows = write(tmp_path / "rows.npy")
    os.mkfifo(tmp_path / "lengths.txt")
    for lengths in (tmp_path / f"device{suffix}", tmp_path / "lengths.txt"):
        with pytest.raises(StorageError, match="not a file"):
            read_latents(rows, str(lengths))

"""Ways to spoil a file: its bytes, its text, its arrays, or what is in its place."""

import os
import re
import shutil
import socket

import h5py
import numpy as np

TEXTS = (
    *(b"", b"0", b"-1", b"1.5", b"nan", b"1e999", b"null", b"true", b'"x"', b"[]"),
    *(b"{}", b"[[]]", b'{"a": 1}', b"9" * 19, b"9" * 5_000, b"-" + b"9" * 30),
    *(b"[" * 100_000, b'{"a":' * 20_000, b"a." * 20_000, b"(" * 3_000, b"\0", b"\n"),
    *(b"\xff\xfe\xfd", b"\xed\xa0\x80", "\u202e٣".encode(), b'"', b"'''", b",", b"#"),
)
"""What a token of a text is replaced by."""


def spoil_bytes(rng, path):
    """Flip bits, overwrite, cut, insert or repeat bytes at random places."""
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 1, 1, 3, 20))):
        place, size = rng.randrange(len(content) + 1), rng.choice((1, 4, 8, 100))
        # Headers are at the beginning, and most of a file is not header.
        place = rng.choice((place, place % 2_000, place % 100))
        run = rng.choice((bytes(size), b"\xff" * size, rng.randbytes(size)))
        match rng.randrange(6):
            case 0 | 1 if place < len(content):
                content[place] ^= 1 << rng.randrange(8)
            case 2:
                content[place : place + size] = run
            case 3:
                content[place:place] = run
            case 4:
                del content[place : place + size]
            case _ if rng.random() < 0.3:
                del content[place:]
    path.write_bytes(content)


def spoil_text(rng, path):
    """Replace, swap or repeat tokens or lines."""
    content = path.read_bytes()
    pattern = rng.choice((rb"[^\n]*\n", rb'[\w.-]+|"[^"]*"|[^\w\s]'))
    tokens = list(re.finditer(pattern, content))
    for _ in range(rng.choice((1, 1, 2, 5))):
        first, second = sorted(rng.choices(tokens, k=2), key=lambda one: one.start())
        start, end = second.span()
        new = rng.choice((first[0], first[0] + second[0], b"", rng.choice(TEXTS)))
        # Later places first: the earlier ones stay where they are.
        content = content[:start] + new + content[end:]
        tokens = [one for one in tokens if one.end() <= start] or tokens[:1]
    path.write_bytes(content)


def spoil_place(rng, path):
    """Put something else than a file where the file is."""
    path.unlink()
    match rng.randrange(9):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to(rng.choice(("/dev/zero", "/dev/null", "/dev/full")))
        case 2:
            path.symlink_to(path.with_name("gone"))
        case 3:
            path.symlink_to(path)
        case 4:
            path.mkdir()
        case 5:
            path.write_bytes(b"")
        case 6:
            path.symlink_to("/proc/self/mem")
        case 7:
            os.mkfifo(path.with_name("pipe"))
            path.symlink_to(path.with_name("pipe"))
        case _:
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(path))


def spoil_array(rng, array):
    """Return an array of another type, shape or content; None: it is missing."""
    array = array.copy()
    kinds = ("f2", "f8", ">f4", "i1", ">i8", "u8", "?", "c8", "S3", "U2", "M8[s]")
    match rng.randrange(9):
        case 0:
            return None
        case 1 | 2:
            with np.errstate(all="ignore"):
                return array.astype(rng.choice(kinds))
        case 3:
            return rng.choice((array[..., None], array.ravel(), array[:0], array[0]))
        case 4:
            return array[:: rng.choice((-1, 2, 3))]
        case 5:
            values = (np.nan, np.inf, -1.0, 256.0, 1e300)
            array = array.astype(np.float64)
            array.flat[rng.randrange(array.size)] = rng.choice(values)
            return array
        case 6 if array.dtype.kind in "iu":
            array = array.astype(np.int64)
            array[:] = rng.choice((-1, 0, 2**62, 2**63 - 1))
            return array
        case 7:
            return np.zeros(array.shape, [("a", "i4"), ("b", "f4", (2,))])
        case _:
            return np.repeat(array, 2, axis=0)


def spoil_npz(rng, path):
    """Spoil one array of an archive; perhaps as an object, which is pickled."""
    with np.load(path) as archive:
        arrays = dict(archive)
    name = rng.choice(list(arrays))
    new = spoil_array(rng, arrays.pop(name))
    if new is not None:
        arrays[rng.choice((name, name, name, "../x"))] = new
    if rng.random() < 0.1:
        arrays[name] = np.array([{}, None], object)
    rng.choice((np.savez, np.savez_compressed))(path, **arrays)


def spoil_hdf5(rng, path):
    """Spoil one dataset: its values, where it lies, or what is there instead."""
    with h5py.File(path, "a") as file:
        name = rng.choice(list(file))
        old, attributes = file[name][:], file.attrs
        del file[name]
        match rng.randrange(14):
            case 0:
                links = (f"/{name}", "/gone", "/action/x", "/")
                file[name] = h5py.SoftLink(rng.choice(links))
            case 1:
                others = ("/etc/passwd", path.name, "gone.h5", ".")
                file[name] = h5py.ExternalLink(rng.choice(others), f"/{name}")
            case 2:
                raw = [(rng.choice(("/etc/passwd", "/dev/zero", "gone")), 0, 2**20)]
                file.create_dataset(name, old.shape, old.dtype, external=raw)
            case 3:
                layout = h5py.VirtualLayout(old.shape, old.dtype)
                layout[:] = h5py.VirtualSource("gone.h5", name, old.shape)
                file.create_virtual_dataset(name, layout)
            case 4:
                file[name] = rng.choice((file["/"], np.dtype("f4")))
            case 5:
                file[name] = h5py.Empty(old.dtype)
            case 6:
                shape = (rng.choice((2**20, 2**40, 2**60)), *old.shape[1:])
                file.create_dataset(name, shape, "u1", chunks=(1, *old.shape[1:]))
            case 7:
                file.create_dataset(name, len(old), h5py.vlen_dtype(np.float32))
            case 8:
                file[name] = ["text"] * len(old)
            case 9:
                file.create_dataset(name, len(old), h5py.ref_dtype)
            case 10:
                file[name] = old
                bad = ("{", "[" * 60_000, b"\xff", "[]", '{"benchmark": {}}', 1.5, [1])
                attributes["metro"] = rng.choice(bad)
            case 11:
                file[b"\xff\xfe" + name.encode()] = old
            case _:
                new = spoil_array(rng, old)
                if new is not None and new.dtype.kind not in "UM":
                    file[name] = new


def clear(folder):
    """Delete everything in a folder."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()

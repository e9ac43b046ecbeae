"""Graphs made wrong on purpose: one defect each, in a directory that is rewritten."""

import json
import struct
from contextlib import suppress

import numpy as np

from metro.storage.arrays import _write_array
from metro.storage.manifest import MANIFEST, seal

INDICES = (
    "episode_offsets neighbour_frame bridge_offsets bridge_frame cell_frame "
    "cell_offsets"
).split()
"""Arrays that kernels follow: half of the defects are theirs."""

WORDS = (0, -1, -2, 1, 2**31 - 1, -(2**31), 2**31, 2**62, 2**63 - 1, -(2**63))
NUMBERS = (np.nan, np.inf, -np.inf, -1.0, 0.0, -0.0, 1e30, 3e38, 1e308, 5e-324)
SIZES = (0, 1, 2, 7, 65_537, 10**6, 2**31, 2**40, 2**62, 2**63, 2**64, 10**30)
PARAMETERS = (None, [], {}, "", "nan", "inf", "x", True, -1, 0, 2.5, 10**30, 10**400)


class Draft:
    """The arrays and the manifest of a graph, to be changed and written back."""

    def __init__(self, path, rng):
        self.path, self.rng = path, rng
        self.manifest = json.loads((path / MANIFEST).read_text())
        self.arrays = self.manifest["arrays"]
        self.num_frames = self.arrays["z"]["shape"][0]

    def some(self):
        """Return the name of an array that is still there."""
        indices = [name for name in INDICES if name in self.arrays]
        return self.rng.choice(indices * (self.rng.random() < 0.5) or [*self.arrays])

    def read(self, name):
        """Return an array as it is now, to be changed."""
        file = self.path / f"{name}.npy"
        if file.stat().st_size > 1 << 28:
            raise ValueError(f"{name} was made huge already")
        return np.load(file)

    def put(self, name, array):
        """Write an array, and its entry in the manifest."""
        file = self.path / f"{name}.npy"
        file.unlink(missing_ok=True)
        self.arrays[name] = _write_array(file, array)

    def seal(self):
        """Write the manifest, with a checksum that fits."""
        (self.path / MANIFEST).write_bytes(seal(self.manifest))


def craft(path, rng):
    """Put one or two defects into a graph whose seals then fit; return their names."""
    draft, done = Draft(path, rng), []
    wanted = rng.choice((1, 1, 2))
    for defect in rng.sample(DEFECTS, len(DEFECTS)):
        # One defect may leave nothing that another could change.
        with suppress(LookupError, ValueError, TypeError, OSError, MemoryError):
            done.append(f"{defect.__name__}({defect(draft)})")
        if len(done) == wanted:
            break
    draft.seal()
    return " ".join(done)


def _extreme(draft, kind):
    if kind.kind == "f":
        return draft.rng.choice((*NUMBERS, float(draft.num_frames)))
    around = (draft.num_frames - 1, draft.num_frames, draft.num_frames + 1)
    limits = np.iinfo(kind)
    fitting = [w for w in (*WORDS, *around) if limits.min <= w <= limits.max]
    return draft.rng.choice(fitting)


def one_value(draft):
    """Set one entry to an extreme, mostly the first or the last."""
    name = draft.some()
    array = draft.read(name)
    flat = array.reshape(-1)
    place = draft.rng.choice((0, len(flat) - 1, draft.rng.randrange(len(flat))))
    with np.errstate(over="ignore"):
        flat[place] = _extreme(draft, flat.dtype)
    draft.put(name, array)
    return f"{name}[{place}] = {flat[place]}"


def many_values(draft):
    """Set all entries, or a run of them, to an extreme."""
    name = draft.some()
    array = draft.read(name)
    flat = array.reshape(-1)
    start = draft.rng.choice((0, draft.rng.randrange(len(flat))))
    with np.errstate(over="ignore"):
        flat[start:] = value = _extreme(draft, flat.dtype)
    draft.put(name, array)
    return f"{name}[{start}:] = {value}"


def flipped_bits(draft):
    """Flip up to 20 bits."""
    name = draft.some()
    array = draft.read(name)
    content = array.reshape(-1).view(np.uint8)
    for _ in range(draft.rng.choice((1, 1, 20))):
        content[draft.rng.randrange(len(content))] ^= 1 << draft.rng.randrange(8)
    draft.put(name, array)
    return name


def other_order(draft):
    """Reverse, shuffle or roll the entries; or let one stand twice."""
    name, how = draft.some(), draft.rng.choice(("reverse", "shuffle", "roll", "twice"))
    array = draft.read(name)
    if how == "twice":
        array[draft.rng.randrange(len(array))] = array[draft.rng.randrange(len(array))]
    elif how == "shuffle":
        np.random.default_rng(draft.rng.randrange(2**32)).shuffle(array)
    else:
        array = array[::-1] if how == "reverse" else np.roll(array, 1, axis=0)
    draft.put(name, array)
    return f"{name} {how}"


def other_shape(draft):
    """Cut, grow, flatten or turn an array; or leave nothing of it."""
    name = draft.some()
    array = draft.read(name)
    axis = draft.rng.randrange(array.ndim)
    short = [slice(None)] * array.ndim
    short[axis] = slice(0, draft.rng.choice((0, 1, -1)))
    shapes = (
        array[tuple(short)],
        np.concatenate([array, array], axis),
        array.reshape(-1),
        array[None],
        array.T,
        array.reshape(array.shape[::-1]),
    )
    array = draft.rng.choice(shapes)
    draft.put(name, array)
    return f"{name} {array.shape}"


def other_type(draft):
    """Swap the bytes, or take another type of number."""
    name = draft.some()
    array = draft.read(name)
    kinds = (array.dtype.newbyteorder(), "<i4", "<i8", "<f4", "<f8", "<u4", "<u8", "?")
    kind = draft.rng.choice((kinds[0], *kinds, "<c16", "S3", "<m8[s]"))
    with np.errstate(invalid="ignore"):
        draft.put(name, array.astype(kind))
    return f"{name} {kind}"


def other_k(draft):
    """Give every frame another number of neighbours, in all arrays that have them."""
    wide = draft.rng.choice((0, 1, 2, 64, 5_000))
    for name in [name for name in draft.arrays if name.startswith("neighbour_")]:
        array = draft.read(name)
        times = -(-wide // array.shape[1]) or 1
        draft.put(name, np.tile(array, (1, times))[:, :wide])
    return wide


def huge_size(draft):
    """Say in the header and the manifest that an array is large; or let it be."""
    name, size = draft.some(), draft.rng.choice(SIZES)
    entry, file = draft.arrays[name], draft.path / f"{name}.npy"
    shape = [*entry["shape"]]
    shape[draft.rng.randrange(len(shape))] = size
    body = file.read_bytes()[128:]
    header = {"descr": entry["dtype"], "fortran_order": False, "shape": tuple(shape)}
    text = str(header).ljust(117) + "\n"
    magic = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text))
    file.write_bytes(magic + text.encode() + body)
    numbers = int(np.prod(shape, dtype=object))
    whole = len(magic) + len(text) + numbers * np.dtype(entry["dtype"]).itemsize
    # A file with a hole: it has the size, and takes no room.
    if whole < 2**42 and draft.rng.random() < 0.5:
        with file.open("r+b") as stream:
            stream.truncate(whole)
    entry |= {"shape": shape, "bytes": file.stat().st_size}
    return f"{name} {shape}"


def missing(draft):
    """Leave out an array, its file, or all arrays of the index."""
    name, how = draft.some(), draft.rng.choice(("entry", "file", "both", "cells"))
    names = [n for n in draft.arrays if n.startswith("cell_")]
    for each in names if how == "cells" else [name]:
        if how != "file":
            del draft.arrays[each]
        if how != "entry":
            (draft.path / f"{each}.npy").unlink()
    return f"{name} {how}"


def extra(draft):
    """Add an array that is not known, or belongs to another kind of graph."""
    name = draft.rng.choice(("more", "cell_more", "bridge_price", "neighbour_reach"))
    like = draft.read(draft.rng.choice(("bridge_cost", "neighbour_gap")))
    draft.put(name, like.astype(draft.rng.choice(("<f4", "<f8"))))
    return name


def wrapped_offsets(draft):
    """Offsets whose differences, or whose sum, leave 64 bits."""
    name = draft.rng.choice([n for n in draft.arrays if n.endswith("offsets")])
    array, last = draft.read(name), draft.num_frames
    lengths = np.array([2**62, 2**62, 2**62, 2**62 + last], dtype=np.uint64)
    wrapped = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64).view(np.int64)
    place = draft.rng.randrange(len(array) - len(wrapped) + 1)
    if name == "episode_offsets" and draft.rng.random() < 0.5:
        array = wrapped
    else:
        array[place : place + len(wrapped)] = wrapped
    draft.put(name, array)
    return name


def other_parameter(draft):
    """Change a parameter, or the whole of them."""
    value = draft.rng.choice(PARAMETERS)
    path = draft.rng.choice(
        ["parameters"] * 3 + ["reach"] * 2 + ["provenance", "version", "format"]
    )
    parameters = draft.manifest["parameters"]
    if path == "reach" and "reach" in parameters:
        parameters["reach"][draft.rng.choice(("noise", "floor", "rate", "x"))] = value
    elif path in ("parameters", "reach") and draft.rng.random() < 0.8:
        path = draft.rng.choice(sorted(parameters))
        parameters[path] = value
    else:
        draft.manifest[path] = value
    return f"{path} = {str(value)[:20]}"


DEFECTS = [one_value, many_values, flipped_bits, other_order, other_shape, other_type]
DEFECTS += [other_k, huge_size, missing, extra, wrapped_offsets, other_parameter]

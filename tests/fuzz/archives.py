"""Archives of latents made wrong on purpose, for ``metro build``: one defect each."""

import struct
import zipfile

import numpy as np

NAMES = ("episode_lengths", "ep_len", "lengths", "episode_offsets", "offsets")
KINDS = (
    ">i8",
    "<i4",
    "<i2",
    "<u8",
    ">u4",
    "<f8",
    "?",
    "<m8[s]",
    "<M8[s]",
    "S8",
    "<c16",
)
SHAPES = ("(-1, 20)", "(-2, -3)", "(0, 20)", "(3000, 0)", "(2**40, 20)", "(3000,)")
SHAPES += ("(1099511627776, 20)", "(18446744073709551616, 1)", "(3, 1000, 20)", "()")


def craft_latents(path, z, rng):
    """Write an archive of rows and episodes with one defect; return its name."""
    lengths = np.full(50, len(z) // 50)
    defect = rng.choice((_lengths, _lengths, _kind, _rows, _header, _bytes, _pipe))
    return f"{defect.__name__}({defect(path, z, lengths, rng)})"


def _lengths(path, z, lengths, rng):
    """Lengths or offsets that wrap around, are negative, or do not ascend."""
    name, large = rng.choice(NAMES), 2**62
    wrapped = np.array([large, large, large, large + len(z)])
    negative = np.array([len(z) + 5, -5])
    extreme = lengths.copy()
    extreme[rng.randrange(50)] = rng.choice((0, -1, 2**31, 2**63 - 1, -(2**63)))
    given = rng.choice((wrapped, negative, extreme, lengths[:-1], lengths[:0]))
    if "offsets" in name:
        with np.errstate(over="ignore"):
            given = np.concatenate([[0], np.cumsum(given)])
        if rng.random() < 0.3:
            given = given[::-1]
    given = given.astype(rng.choice(("<i8", "<i8", "<u8")))
    np.savez(path, z=z, **{name: given})
    return f"{name} {given[:5]} {given.dtype}"


def _kind(path, z, lengths, rng):
    """Another type of number, for lengths or for rows."""
    kind = rng.choice(KINDS)
    with np.errstate(all="ignore"):
        if rng.random() < 0.5:
            np.savez(path, z=z, lengths=lengths.astype(kind))
        else:
            np.savez(path, z=z.astype("<i8").astype(kind), lengths=lengths)
    return kind


def _rows(path, z, lengths, rng):
    """Rows that are no numbers, or not as many as the lengths say."""
    rows = z.copy()
    rows[rng.randrange(len(z)), 3] = rng.choice((np.nan, np.inf, 3e38, 1e20))
    rows = rng.choice((rows, rows, z[:-1], z[:1], z[:0], z[:, :0], z[None], z.T))
    np.savez(path, z=rows, lengths=lengths)
    return rows.shape


def _header(path, z, lengths, rng):
    """A header that names another shape, packed or not."""
    shape, kind = rng.choice(SHAPES), rng.choice(("<f4", "<f4", "|O", ">f8"))
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(117) + "\n"
    magic = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text))
    np.savez(path, lengths=lengths)
    packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(path, "a", packing) as archive:
        archive.writestr("z.npy", magic + text.encode() + z.tobytes())
    return f"{shape} {kind}"


def _bytes(path, z, lengths, rng):
    """Some bytes altered, or the end cut off."""
    (np.savez if rng.random() < 0.5 else np.savez_compressed)(
        path, z=z, lengths=lengths
    )
    content = bytearray(path.read_bytes())
    # Half of them where the directory is: the last bytes of an archive.
    near = 300 if rng.random() < 0.5 else len(content)
    place = len(content) - rng.randrange(1, near)
    if rng.random() < 0.3:
        del content[place:]
    else:
        content[place] = rng.randrange(256)
    path.write_bytes(content)
    return place


def _pipe(path, z, lengths, rng):
    """Something that is no archive: a small file, or a link to nothing's end."""
    if rng.random() < 0.5:
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes(rng.randbytes(200))
    return path.is_symlink()

"""Damaged arrays are noticed, and the error names the file and the damage."""

import os
import re

import numpy as np
import pytest

import metro
from metro.errors import StorageError


def damage(file, place=-1):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "verify", "message"),
    [
        (lambda p: (p / "z.npy").unlink(), False, "z.npy is missing"),
        (
            lambda p: os.truncate(p / "bridge_cost.npy", 1000),
            False,
            "bridge_cost.npy has 1000 bytes, its manifest says",
        ),
        (lambda p: damage(p / "z.npy"), True, "z.npy is damaged (its sha256"),
        (lambda p: damage(p / "z.npy", 3), False, "z.npy is damaged ("),
        (lambda p: damage(p / "z.npy", 30), False, "z.npy is damaged"),
        (
            lambda p: damage(p / "manifest.json", 30),
            False,
            "manifest.json is damaged (its checksum does not match)",
        ),
        (
            lambda p: os.truncate(p / "manifest.json", 100),
            False,
            "manifest.json is damaged (",
        ),
        (
            lambda p: (p / "manifest.json").write_text("[1]"),
            False,
            "manifest.json was not written by metro",
        ),
        (lambda p: (p / "manifest.json").unlink(), False, "it has no manifest.json"),
    ],
)
def test_damage_is_named(saved, harm, verify, message):
    """Missing, truncated, flipped or foreign: what and what to do."""
    harm(saved)
    with pytest.raises(StorageError, match=re.escape(message)):
        metro.load(saved, verify=verify)


def test_large_rows_are_digested_only_when_asked(saved, monkeypatch):
    """Rows above a size are taken as they are; a header that lies never is. D35."""
    damage(saved / "z.npy")
    with pytest.raises(StorageError, match="z.npy is damaged \\(its sha256"):
        metro.load(saved)
    monkeypatch.setattr("metro.storage.artefacts.SMALL_BYTES", 0)
    metro.load(saved)
    with pytest.raises(StorageError, match="z.npy is damaged \\(its sha256"):
        metro.load(saved, verify=True)
    np.save(saved / "z.npy", np.load(saved / "z.npy").reshape(24, 1800))
    with pytest.raises(StorageError, match="z.npy is damaged: it holds"):
        metro.load(saved)


@pytest.mark.parametrize("bit", range(8))
def test_a_damaged_header_is_told(saved, bit):
    """Every flipped bit in a .npy header: an error of ours, or the same array."""
    file, before = saved / "bridge_cost.npy", metro.load(saved).bridge_cost
    whole = file.read_bytes()
    for place in range(128):
        content = bytearray(whole)
        content[place] ^= 1 << bit
        file.write_bytes(content)
        message = ""
        try:
            after = metro.load(saved).bridge_cost
        except StorageError as error:
            message = str(error)
        if message:
            assert "bridge_cost.npy is damaged" in message
            assert "\n" not in message
        else:
            assert after.tobytes() == before.tobytes()


@pytest.mark.parametrize("name", ["manifest.json", "bridge_cost.npy"])
@pytest.mark.parametrize("kind", ["pipe", "device", "hole"])
def test_what_has_no_end_is_not_read(saved, name, kind):
    """A pipe, a device, and a manifest of a terabyte that takes no room."""
    (saved / name).unlink()
    if kind == "pipe":
        os.mkfifo(saved / name)
    elif kind == "device":
        (saved / name).symlink_to("/dev/zero")
    else:
        (saved / name).touch()
        os.truncate(saved / name, 1 << 40)
    with pytest.raises(StorageError, match="is no file that metro wrote|has 10995116"):
        metro.load(saved)

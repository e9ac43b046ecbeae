"""The ``manifest.json`` of an artefact: what it holds, sealed with a checksum."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from metro.errors import StorageError

MANIFEST = "manifest.json"
AGAIN = "Restore it from a copy, or make the artefact again."

Manifest = dict[str, Any]


def seal(manifest: Mapping[str, Any]) -> bytes:
    """Return the manifest as text, with the checksum of everything else in it."""
    try:
        sealed = {**manifest, "checksum": _checksum(manifest)}
    except (TypeError, ValueError, RecursionError) as error:
        raise StorageError(
            f"Provenance must be plain JSON values: {error}. Nothing was written."
        ) from error
    return (json.dumps(sealed, indent=2, sort_keys=True) + "\n").encode()


def parse_manifest(text: bytes) -> Any:
    """Return the JSON value in ``text``; ValueError if there is none."""
    try:
        return json.loads(text)
    # A damaged file may nest a million brackets.
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_manifest(
    path: Path, text: bytes, check: Callable[[Manifest], None]
) -> Manifest:
    """Return a manifest whose format ``check`` knows and whose checksum is right.

    The format comes first: a newer file must not be called damaged.
    """
    try:
        manifest = parse_manifest(text)
        if not isinstance(manifest, dict) or "checksum" not in manifest:
            raise StorageError(f"{path}: {MANIFEST} was not written by metro.")
        check(manifest)
        if _checksum(manifest) != manifest["checksum"]:
            raise ValueError("its checksum does not match")
    except StorageError:
        raise
    except (ValueError, RecursionError) as error:
        raise StorageError(
            f"{path}: {MANIFEST} is damaged ({error}). Restore it or make it again."
        ) from error
    arrays = manifest.get("arrays")
    if not isinstance(arrays, dict) or not all(
        _is_entry(name, described) for name, described in arrays.items()
    ):
        raise StorageError(f"{path}: {MANIFEST} describes no arrays. {AGAIN}")
    return manifest


def _checksum(manifest: Mapping[str, Any]) -> str:
    """Return the sha256 of everything in the manifest but the checksum itself."""
    body = {key: value for key, value in manifest.items() if key != "checksum"}
    # NaN is not JSON: other readers would refuse the file.
    plain = json.dumps(body, sort_keys=True, allow_nan=False)
    return hashlib.sha256(plain.encode()).hexdigest()


def _is_entry(name: str, described: Any) -> bool:
    """Return whether the manifest describes an array as `_write_array` does."""
    if not name.isidentifier() or not isinstance(described, dict):
        return False
    shape = described.get("shape")
    return (
        isinstance(shape, list)
        and all(type(size) is int and size >= 0 for size in shape)
        and type(described.get("bytes")) is int
        and all(isinstance(described.get(key), str) for key in ("dtype", "sha256"))
    )

"""Manifests: sealed by a checksum, checked before anything in them is believed."""

import hashlib
import json
import re

import pytest
from artefacts import rewrite_manifest

import metro
from metro.errors import StorageError


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arrays": None}, "manifest.json describes no arrays"),
        ({"arrays": [1]}, "manifest.json describes no arrays"),
        ({"arrays": {"z": 1}}, "manifest.json describes no arrays"),
        ({"arrays": {"z": {"shape": "12"}}}, "manifest.json describes no arrays"),
        ({"arrays": {"../z": {}}}, "manifest.json describes no arrays"),
        ({"arrays": {}}, "does not hold together (z is missing)"),
        ({"parameters": None}, "does not hold together"),
        ({"parameters": {"latents_digest": "", "quantile": []}}, "does not hold tog"),
        ({"provenance": 7}, "does not hold together"),
        ({"version": "one"}, "has metro-graph version one; this metro reads 1"),
        ({"format": ["metro-graph"]}, "which this metro does not know"),
    ],
)
def test_a_manifest_of_wrong_types(saved, changes, message):
    """Sealed, so no checksum finds it."""
    rewrite_manifest(saved, **changes)
    with pytest.raises(StorageError, match=re.escape(message)):
        metro.load(saved)


def test_a_manifest_that_is_no_plain_json(saved):
    """Nested too deeply for the parser, or with a value that metro never writes."""
    (saved / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(StorageError, match="damaged .it is nested too deeply"):
        metro.load(saved)
    head = '{"checksum": "", "format": "metro-graph", "version": 1, "x": '
    (saved / "manifest.json").write_text(head + "NaN}")
    with pytest.raises(StorageError, match="manifest.json is damaged"):
        metro.load(saved)


def test_newer_is_not_damaged(saved):
    """Format and version come before the checksum, which a newer metro may change."""
    manifest = json.loads((saved / "manifest.json").read_text())
    newer = {**manifest, "version": 3, "checksum": "of another kind"}
    (saved / "manifest.json").write_text(json.dumps(newer))
    with pytest.raises(StorageError, match="has metro-graph version 3; this metro"):
        metro.load(saved)


def test_the_checksum_is_what_the_page_says(saved):
    """docs/formats.md gives the formula."""
    body = json.loads((saved / "manifest.json").read_text())
    checksum = body.pop("checksum")
    plain = json.dumps(body, sort_keys=True)
    assert hashlib.sha256(plain.encode()).hexdigest() == checksum

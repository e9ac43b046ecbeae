"""Graphs on disk: whether two are the same, and manifests made wrong."""

import json

import numpy as np

from metro.storage import manifest as _manifest


def same_graph(a, b):
    """Return whether all arrays of two graphs are equal."""
    fields = ("bridge_offsets", "bridge_frame", "bridge_cost")
    return (
        a.latents.digest == b.latents.digest
        and np.array_equal(a.table.frame, b.table.frame)
        and np.array_equal(a.table.gap, b.table.gap)
        and np.array_equal(a.pricing.gaps, b.pricing.gaps)
        and all(np.array_equal(getattr(a, f), getattr(b, f)) for f in fields)
    )


def rewrite_manifest(path, **changes):
    """Change entries of a manifest, with a seal that fits."""
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_bytes(_manifest.seal({**manifest, **changes}))

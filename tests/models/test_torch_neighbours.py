"""The table by torch: the same bits as everywhere, on CPU tensors here."""

import sys

import numpy as np
import pytest
from table_makers import brute_table, corpora, latents_of, same

import metro
from metro.errors import GraphError, MissingExtra
from metro.models import torch_neighbours


@pytest.mark.parametrize("name", corpora())
def test_torch_equals_brute_force(name):
    """On friendly and on hostile corpora."""
    latents = latents_of(corpora()[name][:1500])
    table = torch_neighbours.find_neighbours_torch(latents, 4, device="cpu")
    assert same((table.frame, table.gap), brute_table(latents, 4))
    assert table.latents_digest == latents.digest


def test_torch_answers_queries_too():
    """Goals and observations, far ones too, with an episode held out."""
    latents = latents_of(corpora()["pushing"][:1500])
    index = torch_neighbours.TorchIndex(latents)
    queries = np.stack([latents.z[3], latents.z[40] + 1e20, latents.z[70]])
    excluded = np.array([0, -1, 1])
    expected = metro.core.neighbours.BruteForceIndex(latents).nearest(
        queries, 3, excluded
    )
    assert same(index.nearest(queries, 3, excluded), expected)


def test_without_torch_the_extra_is_named(monkeypatch):
    """And a wrong k is told first."""
    latents = latents_of(np.zeros((100, 2)))
    with pytest.raises(GraphError, match="num_neighbours must be a whole number"):
        torch_neighbours.find_neighbours_torch(latents, 0)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match='"torch" extra: pip install "metro-wm'):
        torch_neighbours.find_neighbours_torch(latents)

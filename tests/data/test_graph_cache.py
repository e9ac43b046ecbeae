"""Laws of `metro.data.graph_cache`: one call makes a graph; a cache only saves time."""

import numpy as np
import pytest
import torch
from model_makers import make_footage, make_model
from numpy.testing import assert_array_equal

import metro
from metro import PricingCurve, build_graph, find_neighbours
from metro.data.corpus import open_corpus
from metro.errors import ModelError, PricingError, StorageError


class Mean:
    """The smallest model: a latent is the mean colour of a part of the frame."""

    calls = 0

    def encode(self, frames):
        """Return ``[N, 3]`` latents."""
        self.calls += 1
        return np.asarray(frames, np.float64)[:, ::2, ::3].mean((1, 2))


@pytest.fixture
def corpus(tmp_path):
    """Twelve episodes of a dot that its actions move."""
    footage = make_footage()
    arrays = {"pixels": footage.pixels, "action": footage.actions}
    np.savez(tmp_path / "dots.npz", ep_len=footage.lengths, **arrays)
    with open_corpus(tmp_path / "dots.npz") as opened:
        yield opened


def same(one, other):
    """Return whether two graphs are the same, bit for bit."""
    return one.latents.digest == other.latents.digest and all(
        np.array_equal(a, b)
        for a, b in zip(one.bridges(), other.bridges(), strict=True)
    )


def test_the_graph_is_that_of_the_single_steps(corpus):
    """Encode, find neighbours, price: nothing else happens."""
    model = make_model()
    graph = corpus.build_graph(model, waypoint_budget=5, num_neighbours=3, quantile=0.5)
    latents = graph.latents
    assert_array_equal(latents.z[:30], model.encode(corpus.frames(0)))
    table, pricing = find_neighbours(latents, 3), PricingCurve.fit(latents, 5, 0.5)
    assert same(graph, build_graph(latents, table, pricing))


@pytest.mark.parametrize("convert", [np.asarray, torch.tensor, np.float32])
def test_any_object_with_encode_makes_a_graph(corpus, convert):
    """NumPy or torch, float32 or float64, without any other attribute."""

    class Other(Mean):
        def encode(self, frames):
            return convert(super().encode(frames))

    assert same(corpus.build_graph(Other()), corpus.build_graph(Mean()))


def test_a_cache_is_reused_by_the_same_model_and_corpus(corpus, tmp_path):
    """The second call encodes only what tells the model from others."""
    model, path = Mean(), tmp_path / "dots.metro"
    first = corpus.build_graph(model, cache=path)
    calls = model.calls
    second = corpus.build_graph(model, cache=str(path))
    assert same(first, second)
    assert model.calls == calls + 1
    assert metro.load(tmp_path / "dots.latents").digest == first.latents.digest


def test_a_cache_of_another_model_is_replaced(corpus, tmp_path):
    """Graph and latents become those of the model that was given."""
    path = tmp_path / "dots.metro"
    corpus.build_graph(make_model(), cache=path)
    graph = corpus.build_graph(Mean(), cache=path)
    assert graph.latents.z.shape[1] == 3
    assert same(metro.load(path), graph)
    assert metro.load(tmp_path / "dots.latents").digest == graph.latents.digest


@pytest.mark.parametrize("wanted", [{"waypoint_budget": 4}, {"num_neighbours": 2}])
def test_other_settings_reuse_the_latents(corpus, tmp_path, wanted):
    """What they change is computed again, and kept."""
    path = tmp_path / "dots.metro"
    corpus.build_graph(Mean(), cache=path)
    graph = corpus.build_graph(Mean(), cache=path, **wanted)
    assert same(graph, corpus.build_graph(Mean(), **wanted))
    assert same(metro.load(path), graph)


def test_latents_beside_the_cache_are_reused(corpus, tmp_path):
    """An interruption after encoding costs no second encoding."""
    model, path = Mean(), tmp_path / "dots.metro"
    corpus.build_graph(model, cache=path)
    path.rename(tmp_path / "elsewhere.metro")
    calls = model.calls
    corpus.build_graph(model, cache=path)
    assert model.calls == calls + 1


def test_files_of_others_are_not_replaced(corpus, tmp_path):
    """A cache path that holds something else is an error."""
    path = tmp_path / "dots.metro"
    path.mkdir()
    (path / "thesis.tex").write_text("")
    with pytest.raises(StorageError):
        corpus.build_graph(Mean(), cache=path)
    assert (path / "thesis.tex").exists()


def test_a_model_that_returns_other_shapes_is_refused(corpus):
    """The message names the model and both shapes."""

    class Flat(Mean):
        def encode(self, frames):
            return super().encode(frames)[0]

    message = r"^Flat.encode must return one latent per frame, \[30, D\]; it returned "
    with pytest.raises(ModelError, match=message + r"\[3\]\.$"):
        corpus.build_graph(Flat())


def test_every_stage_has_a_progress_bar(corpus):
    """Titles in order, each until it is done."""
    from contextlib import contextmanager

    seen = []

    @contextmanager
    def bar(title):
        yield lambda done, total: seen.append((title, done == total))

    corpus.build_graph(Mean(), progress=bar)
    assert [title for title, finished in seen if finished] == [
        "Encoding",
        "Neighbour table",
    ]


def test_a_cache_keeps_one_pricing_and_serves_the_other(corpus, tmp_path):
    """Asked for the other price, the graph is built again: the same as without it."""
    model, cache = make_model(), tmp_path / "dots.metro"
    asked = {"waypoint_budget": 5, "num_neighbours": 3}
    by_gap = corpus.build_graph(model, **asked)
    by_reach = corpus.build_graph(model, **asked, pricing="reach")
    assert (by_gap.is_directed, by_reach.is_directed) == (False, True)
    for pricing in ("reach", "reach", "gap", "reach"):
        kept = corpus.build_graph(model, **asked, pricing=pricing, cache=cache)
        assert same(kept, by_reach if pricing == "reach" else by_gap)
        assert (kept.measure is not None) == (pricing == "reach")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name[0] == ".") == []


def test_another_pricing_is_refused(corpus):
    """The message lists what would have been valid."""
    with pytest.raises(PricingError, match='must be "gap" or "reach", got \'time\''):
        corpus.build_graph(make_model(), pricing="time")

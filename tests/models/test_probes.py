"""Laws of `metro.models.probes`, footage from corpora, and cards."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from model_makers import QUICK, TINY, make_footage, make_model
from numpy.testing import assert_array_equal

from metro.data.corpus import open_corpus
from metro.errors import ModelError
from metro.models import train as runs
from metro.models.action_stats import ActionStats
from metro.models.cards import card_text
from metro.models.pixel_cache import (
    cache_pixels,
    dataset_from_corpus,
    state_targets,
)
from metro.models.probes import HORIZONS, prediction_errors, report
from metro.models.train import train_on_corpus


class Copier:
    """A fake model whose latents are some pixels and whose rollout copies them."""

    action_size = 2
    action_stats = ActionStats([0.0, 0.0], [1.0, 1.0])

    def encode(self, frames):
        """Return a few pixels."""
        return frames.reshape(len(frames), -1)[:, ::97].astype(np.float32) / 255

    def rollout(self, z, actions):
        """Return z, again and again."""
        return np.repeat(z[:, None], actions.shape[1], axis=1)


@pytest.fixture(scope="module")
def footage():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


def write_corpus(folder, footage):
    """Write footage as a folder of arrays, which `open_corpus` reads."""
    folder.mkdir()
    np.save(folder / "pixels.npy", footage.pixels)
    np.save(folder / "action.npy", footage.actions)
    np.save(folder / "pos_agent.npy", footage.states)
    np.save(folder / "ep_len.npy", footage.lengths)
    return folder


def test_copying_is_as_good_as_copying(footage):
    """A model that copies has the copy's error at every horizon."""
    errors = prediction_errors(Copier(), footage, np.arange(12))
    assert [error["blocks"] for error in errors] == list(HORIZONS)
    for error in errors:
        assert error["prediction"] == error["copy"] > 0


def test_horizons_end_with_the_episodes():
    """Blocks that no episode is long enough for are left out."""
    footage = make_footage(3, 12)
    errors = prediction_errors(Copier(), footage, np.arange(3))
    assert [error["blocks"] for error in errors] == [1, 2]
    assert prediction_errors(Copier(), make_footage(3, 4), np.arange(3)) == []


def test_a_report_is_plain_json(footage):
    """The final report has every figure, as JSON values."""
    model = make_model(action_stats=ActionStats([0, 0], [1, 1]))
    figures = json.loads(json.dumps(report(model, footage, np.array([1, 5, 9]))))
    assert set(figures) == {"health", "probe", "prediction", "saturation"}
    assert set(figures["probe"]) == {"x", "y"}
    assert figures["saturation"][0]["distance"] == 1


def test_pixels_are_decoded_once(footage, tmp_path):
    """The cache holds every frame, and is read, not written, the second time."""
    folder = write_corpus(tmp_path / "dots", footage)
    told = []
    with open_corpus(folder) as corpus:
        pixels = cache_pixels(corpus, progress=lambda *done: told.append(done))
        assert told[-1] == (12, 12)
        assert_array_equal(pixels, footage.pixels)
        cache_pixels(corpus, progress=lambda *_: pytest.fail("decoded again"))


def test_a_cache_of_another_corpus_is_not_used(footage, tmp_path):
    """A corpus recorded anew under the old name is decoded anew."""
    folder = write_corpus(tmp_path / "dots", footage)
    with open_corpus(folder) as corpus:
        cache_pixels(corpus)
    other = make_footage(seed=1)
    np.save(folder / "pixels.npy", other.pixels)
    with open_corpus(folder) as corpus:
        assert_array_equal(cache_pixels(corpus), other.pixels)


@pytest.mark.parametrize(
    ("benchmark", "columns", "names"),
    [
        ("tworoom", {"pos_agent": 2}, "agent x,agent y"),
        (
            "reacher",
            {"qpos": 2},
            "shoulder sin,wrist sin,shoulder cos,wrist cos",
        ),
        (
            "pusht",
            {"state": 7},
            "agent x,agent y,block x,block y,angle sin,angle cos",
        ),
        (
            "cube",
            {"proprio_effector_pos": 3, "privileged_block_0_pos": 3},
            "effector x,effector y,effector z,cube x,cube y,cube z",
        ),
    ],
)
def test_every_benchmark_names_its_state(benchmark, columns, names):
    """States come from the released columns; angles as sine and cosine."""

    class Columns:
        def __init__(self):
            self.benchmark = benchmark

        def column(self, name):
            return np.arange(4.0 * columns[name]).reshape(4, -1)

    states, found = state_targets(Columns())
    assert ",".join(found) == names
    assert states.shape == (4, len(found))
    if benchmark == "pusht":
        np.testing.assert_allclose(
            states[1, 4:], [np.sin(11.0), np.cos(11.0)], rtol=1e-5
        )


def test_an_unknown_benchmark_has_no_state():
    """Without a benchmark there is nothing to probe."""

    class Unknown:
        benchmark = None

    assert state_targets(Unknown()) is None


def test_a_corpus_becomes_a_model_a_report_and_a_card(footage, tmp_path, monkeypatch):
    """``metro train`` in one call: weights, log, report, card."""
    folder = write_corpus(tmp_path / "dots", footage)
    monkeypatch.setattr(runs, "dataset_from_corpus", as_tworoom)
    monkeypatch.setattr(runs, "sizes_for", lambda *_, **__: TINY)
    path = tmp_path / "lewm-small-tworoom.safetensors"
    run = train_on_corpus(open_corpus(folder), path, config=QUICK)
    names = {file.name.removeprefix(path.stem) for file in tmp_path.glob("lewm*")}
    assert names == {
        ".md",
        ".safetensors",
        ".safetensors.log.json",
        ".safetensors.report.json",
    }
    card = run.card.read_text()
    assert card.startswith("# lewm-small-tworoom\n\nLEWM for tworoom, ")
    assert "- auxiliary losses: none, the published loss on pixels" in card
    tuned = train_on_corpus(
        open_corpus(folder),
        tmp_path / "tuned.safetensors",
        config=replace(QUICK, seed=1),
        init=path,
    )
    assert tuned.model.notes["init"] == run.model.digest
    assert f"- fine-tuned from `{run.model.digest}`" in tuned.card.read_text()


def test_a_corpus_of_nothing_known_is_told(footage, tmp_path):
    """The small preset needs to know the benchmark."""
    folder = write_corpus(tmp_path / "dots", footage)
    message = (
        f"{folder} does not say which benchmark it shows, and the small preset depends "
        f"on it. Make it with metro record."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        train_on_corpus(
            open_corpus(folder), tmp_path / "model.safetensors", config=QUICK
        )


def test_remarks_end_the_card(footage):
    """Success rates and caveats are lines of their own."""
    model = make_model(
        action_stats=ActionStats([0, 0], [1, 1]),
        notes={
            "recipe": QUICK.to_json(),
            "corpus": {"settings": {"recipe": "expert", "seed": 3}},
            "num_episodes": 12,
            "num_frames": 360,
            "init": None,
        },
    )
    figures = report(model, footage, np.array([1, 5]))
    text = card_text(model, figures, minutes=3.2, remarks=["flat, d = 25: 96 %"])
    assert text.endswith("## What it reaches\n\n- flat, d = 25: 96 %\n")
    assert "12 episodes, 360 frames (recipe expert, seed 3)" in text


def as_tworoom(corpus):
    """Return footage of a corpus that does not say what it shows, as TwoRoom's."""
    corpus.benchmark = "tworoom"
    return dataset_from_corpus(corpus)

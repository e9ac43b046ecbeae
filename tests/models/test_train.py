"""From a corpus to a model, a report and a card."""

import re
from dataclasses import replace

import numpy as np
import pytest
from model_makers import QUICK, TINY, make_footage

from metro.data.corpus import open_corpus
from metro.errors import ModelError
from metro.models import train as runs
from metro.models.pixel_cache import (
    dataset_from_corpus,
)
from metro.models.train import train_on_corpus


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


def as_tworoom(corpus):
    """Return footage of a corpus that does not say what it shows, as TwoRoom's."""
    corpus.benchmark = "tworoom"
    return dataset_from_corpus(corpus)


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

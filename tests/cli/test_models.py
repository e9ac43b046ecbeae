"""What ``metro train`` makes of its options, and what it shows meanwhile."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from corpus_makers import write
from typer.testing import CliRunner

from metro.cli import app
from metro.cli import terminal as display
from metro.models import train as runs
from metro.models.train_config import TrainConfig, paper_config


@pytest.fixture
def train(columns, tmp_path, monkeypatch):
    """Return a function that runs the verb: its config, and the bars it showed."""
    corpus = write(tmp_path / "dots.h5", columns)
    card = tmp_path / "card.md"
    card.write_text("A card")
    configs, shown = [], []

    def take(path, output, *, config, progress, **_):
        configs.append(config)
        progress(config.steps, config.steps)
        return SimpleNamespace(card=card)

    @contextmanager
    def note(title):
        yield lambda *done: shown.append((title, *done))

    monkeypatch.setattr(runs, "train_on_corpus", take)
    monkeypatch.setattr(display, "progress_bar", note)

    def run(*options):
        shown.clear()
        output = str(tmp_path / "m.safetensors")
        line = ["train", "tworoom", "--corpus", str(corpus), "-o", output, *options]
        ran = CliRunner().invoke(app, line, catch_exceptions=False)
        assert ran.output == "A card\n"
        return configs[-1], list(shown)

    return run


def test_frames_are_read_under_a_bar_of_their_own(train):
    """Once: the second run finds them decoded."""
    reading = [("Reading frames", done, 3) for done in (1, 2, 3)]
    assert train("--steps", "9")[1] == [*reading, ("Training lewm", 9, 9)]
    assert train("--steps", "9")[1] == [("Training lewm", 9, 9)]


def test_the_preset_decides_what_is_not_given(train):
    """Batch size, rate and seed are the config's own."""
    assert train()[0] == TrainConfig(family="lewm", steps=3_000)
    config, _ = train("--preset", "paper", "--family", "pldm", "--steps", "7")
    assert config == paper_config("pldm", steps=7)


def test_options_reach_the_recipe(train):
    """Each by its own name."""
    config, _ = train(
        *("--pixel-head", "warmup", "--state-head", "throughout"),
        *("--batch-size", "16", "--learning-rate", "0.01", "--seed", "0"),
        *("--preset", "paper"),
    )
    assert (config.pixel_head, config.state_head) == ("warmup", "throughout")
    assert (config.batch_size, config.learning_rate, config.seed) == (16, 0.01, 0)

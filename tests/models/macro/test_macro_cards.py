"""Laws of the cards of macro models."""

import pytest
from macro_makers import make_macro

from metro.models.macro.macro_cards import macro_card
from metro.models.macro.training_cost import MacroCost
from metro.models.train_config import macro_config_for

COST = MacroCost(steps=120, seconds=90, cpu_seconds=180, metro_seconds=60)
ROLLOUT = [
    {"macro_steps": 1, "prediction": 0.12344, "copy": 0.5},
    {"macro_steps": 2, "prediction": 0.25, "copy": 1.0},
]
METRICS = {"split": "episodes", "rollout": ROLLOUT}


def make_trained(preset="small", corpus=None):
    notes = {
        "recipe": vars(macro_config_for(preset, seed=7)),
        "origin": {} if corpus is None else {"corpus": corpus},
        "num_episodes": 12,
        "num_frames": 1200,
    }
    return make_macro(notes=notes)


def test_a_card_says_what_the_model_stands_on():
    """Name, sizes, its own digest and that of the encoder."""
    model = make_trained()
    card = macro_card(model, METRICS, COST)
    assert card.startswith("# macro-tworoom\n\nMacro model (Hi-LeWM) for tworoom, ")
    assert "8-d latents, 4-d macro actions of 5 blocks of 5 steps." in card
    digests = f"`{model.digest}`, on top of the encoder `{model.encoder_digest}`."
    assert digests in card


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        (
            {"name": "dots", "digest": "abc"},
            "- corpus: dots, 12 episodes, 1200 frames, digest `abc`\n",
        ),
        (None, "- corpus: arrays, 12 episodes, 1200 frames, digest `unknown`\n"),
    ],
)
def test_a_card_names_the_corpus_if_it_is_known(corpus, expected):
    """A user's own arrays have neither name nor digest."""
    assert expected in macro_card(make_trained(corpus=corpus), METRICS, COST)


def test_only_another_rate_is_set_beside_the_published_one():
    """The small preset's learning rate is not the published one; the paper's is."""
    small, paper = (
        macro_card(make_trained(preset), METRICS, COST) for preset in ("small", "paper")
    )
    assert " (published: 5e-05), seed 7," in small
    assert "AdamW 5e-05, seed 7," in paper


def test_errors_stand_beside_those_of_copying():
    """One row per number of macro steps; windows come first if they were measured."""
    rows = ["| 1 macro step(s) | 0.1234 | 0.5000 |"]
    rows += ["| 2 macro step(s) | 0.2500 | 1.0000 |"]
    card = macro_card(make_trained(), METRICS, COST)
    assert "\n".join(["|---|---|---|", *rows, ""]) in card
    windows = {**METRICS, "windows": {"prediction": 0.5, "copy": 0.75}}
    card = macro_card(make_trained(), windows, COST)
    first = "| next waypoint | 0.5000 | 0.7500 |"
    assert "\n".join(["|---|---|---|", first, *rows, ""]) in card

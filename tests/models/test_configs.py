"""Laws of config.json: read as values, never imported."""

import json
import os
import re
from dataclasses import replace

import pytest
from release_makers import released_config

from metro.errors import ModelError
from metro.models.configs import parse_config, read_config
from metro.models.loading import load_model
from metro.models.presets import PAPER


def test_unknown_targets_are_never_imported():
    """A configuration that names something else is refused with the known names."""
    config = released_config()
    config["_target_"] = "os.system"
    message = (
        "config.json asks for 'os.system' as the model; metro knows "
        "stable_worldmodel.wm.lewm.LeWM, stable_worldmodel.wm.lewm.lewm.LeWM, "
        "stable_worldmodel.wm.pldm.PLDM, stable_worldmodel.wm.pldm.pldm.PLDM, "
        "jepa.JEPA. It never imports what a configuration names."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        parse_config(config, "config.json")


def test_released_configurations_have_the_published_sizes():
    """The released tree is the paper preset."""
    assert parse_config(released_config(), "config.json") == ("lewm", PAPER)


def test_other_widths_are_refused():
    """A predictor of another inner width is told, not built wrongly."""
    config = released_config()
    config["predictor"]["hidden_dim"] = 384
    message = "config.json has predictor.hidden_dim = 384; metro builds it with 192."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        parse_config(config, "config.json")


def test_a_folder_without_configuration_is_told(tmp_path):
    """A folder that holds no config.json says what belongs there."""
    message = (
        f"{tmp_path / 'config.json'} does not exist; a model's folder holds "
        f"config.json and weights.pt."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        load_model(tmp_path)


def changed(part, **settings):
    """Return a released configuration with other settings in one part, as JSON."""
    config = released_config()
    config[part] |= settings
    return json.dumps(config)


CONFIGS = {
    "a list": "[]",
    "a text": '"x"',
    "deep": "[" * 100_000,
    "no JSON": "{",
    "long": json.dumps(released_config() | {"_target_": "x" * 10_000}),
    "target a list": changed("encoder", _target_=[]),
    "size a list": changed("encoder", size=["tiny"]),
    "norm a text": changed("projector", norm_fn="x"),
    "no norm": changed("pred_proj", norm_fn=None),
    "endless depth": changed("predictor", depth=float("inf")),
    "no depth": changed("predictor", depth=None),
}


@pytest.mark.parametrize("text", CONFIGS.values(), ids=CONFIGS)
def test_whatever_a_configuration_holds_is_one_line(tmp_path, text):
    """A `ModelError` of one short line that names the file."""
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ModelError) as caught:
        read_config(path)
    assert str(caught.value).startswith(str(path))
    assert len(str(caught.value).splitlines()) == 1
    assert len(str(caught.value)) < 1_000


def test_a_pipe_is_no_configuration(tmp_path):
    """It is refused at once: reading it would wait for ever."""
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(ModelError, match=r"config\.json is a pipe, not a file"):
        read_config(tmp_path / "config.json")


@pytest.mark.parametrize("share", [float("nan"), -0.1, 1.0])
def test_a_share_that_is_no_share_is_refused(share):
    """Dropout leaves something, and is a number."""
    with pytest.raises(ModelError, match=r"^dropout must be in \[0, 1\), got"):
        replace(PAPER, dropout=share)

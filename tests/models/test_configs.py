"""Laws of config.json: read as values, never imported."""

import re

import pytest
from release_makers import released_config

from metro.errors import ModelError
from metro.models.configs import parse_config
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

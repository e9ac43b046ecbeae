"""Fixtures of the model tests."""

import pytest
import torch
from release_makers import build_with_swm, released_config


@pytest.fixture(scope="session", params=["lewm", "pldm"])
def released(request, tmp_path_factory):
    """A full-size model, and the folder that swm's ``save_pretrained`` wrote."""
    from omegaconf import OmegaConf

    family = request.param
    action_size = {"lewm": 10, "pldm": 25}[family]
    config = released_config(family, action_size)
    torch.manual_seed(0)
    model = build_with_swm(family, config)
    home = tmp_path_factory.mktemp(family)
    from stable_worldmodel.wm.utils import save_pretrained

    save_pretrained(model, "run", OmegaConf.create(config), cache_dir=str(home))
    return family, model, next(home.glob("**/run"))

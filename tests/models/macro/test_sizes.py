"""Laws of the sizes of macro models."""

from dataclasses import replace

import pytest

from metro.models.macro.sizes import NUM_WAYPOINTS, PUBLISHED, macro_sizes_for
from metro.models.presets import PAPER, small_sizes

LOW = replace(small_sizes("tworoom"), latent_size=24, projector_size=48, action_size=35)
PREDICTOR = ("depth", "heads", "head_size", "mlp_size", "dropout")


@pytest.mark.parametrize("preset", ["paper", "small"])
def test_a_macro_model_fits_the_world_model_below(preset):
    """Latents, projectors and action blocks are as large as the world model's."""
    sizes = macro_sizes_for(preset, LOW)
    assert (sizes.latent_size, sizes.projector_size, sizes.action_size) == (24, 48, 35)


def test_the_paper_preset_on_the_paper_model_is_the_published_one():
    """Published sizes belong to the published world model."""
    assert macro_sizes_for("paper", PAPER) == PUBLISHED


@pytest.mark.parametrize("name", PREDICTOR)
def test_a_small_predictor_is_as_large_as_the_one_below(name):
    """Each size of the macro predictor is that of the world model's."""
    more = 0.3 if name == "dropout" else 3
    low = replace(LOW, **{name: getattr(LOW, name) + more})
    assert getattr(macro_sizes_for("small", low), name) == getattr(low, name)


def test_the_macro_predictor_sees_all_waypoints_but_the_last():
    """Its sizes are the macro model's, its context is four waypoints."""
    sizes = macro_sizes_for("small", LOW)
    for name in (*PREDICTOR, "latent_size", "projector_size"):
        assert getattr(sizes.predictor, name) == getattr(sizes, name), name
    assert sizes.predictor.num_frames == NUM_WAYPOINTS - 1 == 4

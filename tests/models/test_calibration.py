"""Laws of batch norms in evaluation mode."""

import numpy as np
import pytest
import torch
from model_makers import make_footage, make_model

from metro.models.action_stats import ActionStats
from metro.models.calibration import calibrate
from metro.models.sequences import (
    SequenceSampler,
)


@pytest.fixture(scope="module")
def dataset():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


def test_calibrated_batch_norms_have_the_batches_statistics(dataset):
    """In evaluation mode a calibrated model does what training mode does."""
    starts = np.arange(64)
    stats = ActionStats.of(dataset.actions)
    sampler = SequenceSampler(
        dataset, starts, action_stats=stats, batch_size=64, seed=0
    )
    network = make_model().network
    pixels = torch.from_numpy(sampler.batch(0).pixels)
    calibrate(network, [sampler.batch(0)])
    expected = network.train().encode(pixels)
    found = network.eval().encode(pixels)
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
    assert all(
        module.momentum == 0.1
        for module in network.modules()
        if isinstance(module, torch.nn.BatchNorm1d)
    )

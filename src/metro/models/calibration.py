"""Batch norm for evaluation: statistics of the finished weights alone."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from metro.models.networks import WorldModelNetwork
from metro.models.sequences import Batch


@torch.no_grad()
def calibrate(
    network: WorldModelNetwork, batches: Iterable[Batch], *, train_only: str = "all"
) -> None:
    """Replace the running statistics of all batch norms by means over ``batches``.

    The running means of training lag behind weights that still move: in between, a
    model that trains well can be useless in evaluation mode.

    Args:
        network: Its weights stay; switch it to evaluation mode afterwards.
        batches: Sequences to pass through it.
        train_only: ``all``, or the ``predictor`` alone: then latents stay as they are.
    """
    device = network.predictor.pos_embedding.device
    network.eval()
    # An encoder that stays must keep its norms, or latents made with it no longer fit.
    with recalculated_norms(network if train_only == "all" else network.pred_proj):
        for batch in batches:
            z = network.encode(torch.from_numpy(batch.pixels).to(device))
            z = z.unflatten(0, (len(batch.blocks), -1))
            blocks = torch.from_numpy(batch.blocks).to(device)
            network.predict(z[:, :-1], blocks[:, :-1])


@contextmanager
def recalculated_norms(network: nn.Module) -> Iterator[None]:
    """Forget the statistics of all batch norms; take plain means inside the block.

    Only the norms are in training mode there: dropout would disturb the means.
    """
    network.eval()
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm)]
    # Put back below: a momentum of None would change any later training.
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.train()
        norm.reset_running_stats()
        norm.momentum = None  # a plain mean over all batches
    yield
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum

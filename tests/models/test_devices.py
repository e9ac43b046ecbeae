"""Laws of choosing a device, and of counting what an encoder does on it."""

from dataclasses import replace

import pytest
import torch
from model_makers import TINY, make_model

from metro.errors import ModelError
from metro.models.devices import choose_device, encoder_flops


@pytest.mark.parametrize(
    ("cuda", "mps", "expected"),
    [
        (True, True, "cuda"),
        (True, False, "cuda"),
        (False, True, "mps"),
        (False, False, "cpu"),
    ],
)
def test_the_fastest_device_is_chosen(monkeypatch, cuda, mps, expected):
    """Without a wish: CUDA, else Apple's GPU, else the processor."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert choose_device(None) == expected


def test_a_wish_goes_before_speed(monkeypatch):
    """Who asks for the processor gets it, whatever else is there."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("cpu") == "cpu"


@pytest.mark.parametrize("device", ["toaster", "cuda:99", ""])
def test_a_device_that_is_not_here_is_told(device):
    """The message names the device and gives torch's reason, on one line."""
    with pytest.raises(ModelError) as caught:
        choose_device(device)
    start = f"There is no device {device!r} here: "
    assert str(caught.value).startswith(start)
    assert len(str(caught.value)) > len(start)
    assert "\n" not in str(caught.value)


def test_operations_grow_with_the_pixels():
    """Twice the edge: four times the convolutions, and a projector of more features."""
    flops = [
        encoder_flops(make_model(replace(TINY, image_size=size, widths=(8,))))
        for size in (16, 32)
    ]
    products = [
        (size // 2) ** 2 * (8 * 27 + 8 * 32) + 32 * 8  # stem, projector in, out
        for size in (16, 32)
    ]
    assert flops == [2 * number for number in products]

"""The device to compute on, and how fast it could be for an encoder."""

import time

import torch
from torch.utils.flop_counter import FlopCounterMode

from metro.errors import ModelError
from metro.models.frozen import FrozenModel

_EDGE = 1024
_REPEATS = 5


def choose_device(device: str | None) -> str:
    """Return ``device``, or a GPU if there is one, else the CPU.

    Raises:
        ModelError: If torch cannot use ``device`` here.
    """
    if device is not None:
        try:
            # Trying is the one test that holds for every backend and every GPU number.
            torch.empty(1, device=device)
        except (RuntimeError, AssertionError, NotImplementedError) as error:
            reason = str(error).splitlines()[0]
            raise ModelError(f"There is no device {device!r} here: {reason}") from error
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def encoder_flops(model: FrozenModel) -> int:
    """Return the floating-point operations that one frame of a batch takes."""
    size = model.image_size
    # Two: the cnn encodes a single frame twice, which would count double.
    frames = torch.zeros(2, size, size, 3, dtype=torch.uint8, device=model.device)
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.network.encode(frames)
    return int(counter.get_total_flops()) // len(frames)


def measure_peak(device: str) -> float:
    """Return operations per second of the best of a few float32 matrix products."""
    left = torch.randn(_EDGE, _EDGE, device=device)
    # The least time: whatever else runs here can only make it longer.
    seconds = min(_time_product(left) for _ in range(_REPEATS))
    return 2 * _EDGE**3 / seconds


def _time_product(left: torch.Tensor) -> float:
    started = time.perf_counter()
    (left @ left)[0, 0].item()  # waits for a GPU
    return time.perf_counter() - started

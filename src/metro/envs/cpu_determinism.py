"""One arithmetic for all x86 machines: the same bytes on each of them.

NumPy, OpenBLAS and torch choose their kernels by the processor, and those with 512-bit
vectors round the last bit otherwise. Latents then have another digest, and a contact
turns that bit into another trajectory: of 80 episodes of Cube, 38 had other
actions. The libraries choose when they are loaded, so these variables must be set when
a process starts. Recording does so by itself; `metro doctor` prints them for the rest.
"""

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

_X86 = ("x86_64", "AMD64")
_KERNELS = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
"""Variables of torch, of its two libraries of matrix products, and of NumPy's."""
_WIDE = ("AVX512", "X86_V4")
"""How NumPy names what goes beyond AVX2."""


def common_arithmetic() -> dict[str, str]:
    """Return the variables that a process must start with on this machine.

    Empty where there is nothing to agree on: not x86, or x86 without AVX2.
    """
    numpy_core = import_module("numpy._core._multiarray_umath")
    features: dict[str, bool] = numpy_core.__cpu_features__
    if platform.machine() not in _X86 or not features.get("AVX2"):
        return {}
    wide = [name for name in numpy_core.__cpu_dispatch__ if name.startswith(_WIDE)]
    # NumPy warns when it must disable what the processor does not have.
    known = [name for name in wide if features.get(name)]
    off = {"NPY_DISABLE_CPU_FEATURES": " ".join(known)} if known else {}
    return _KERNELS | off


def is_common() -> bool:
    """Return whether this process itself was started that way."""
    wanted = common_arithmetic()
    return all(os.environ.get(name) == value for name, value in wanted.items())


@contextmanager
def for_children() -> Iterator[None]:
    """Have processes that are started inside begin with the common arithmetic."""
    wanted = common_arithmetic()
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value

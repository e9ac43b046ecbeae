"""The hot loops, compiled by Numba; each has a slow twin that it must equal.

Nothing here imports Numba before a kernel is wanted: that takes longer than most
corpora take to search. The modules of this package do import it, at their top.
"""

import warnings
from functools import cache


@cache
def has_numba() -> bool:
    """Return whether kernels can be compiled; warn once if not. Decision: D11."""
    try:
        import numba  # noqa: F401
    except ImportError as error:
        warnings.warn(
            f"Numba cannot be imported ({error}): metro gives the same results, many "
            f"times slower. Cure: pip install numba",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True

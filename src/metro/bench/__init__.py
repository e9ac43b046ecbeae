"""Peers and us, in one process on the same data: times, ratios, recall, exactness.

Peers are the ``[bench]`` extra and are imported only where they run; one that is not
installed is a row that says so.
"""

from metro.bench.report import render
from metro.bench.run import KINDS, run_bench
from metro.bench.scaling import plot_scaling

__all__ = ["KINDS", "plot_scaling", "render", "run_bench"]

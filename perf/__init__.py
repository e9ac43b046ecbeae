"""Peers and us, in one process on the same data: times, ratios, recall, exactness.

Peers are the ``[bench]`` extra and are imported only where they run; one that is not
installed is a row that says so.
"""

from perf.report import render
from perf.run import KINDS, run_bench
from perf.scaling import plot_scaling

__all__ = ["KINDS", "plot_scaling", "render", "run_bench"]

"""Compiled loops of the backward search."""

SLACK = 1e-9
"""Frames: larger than any rounding error of a sum of prices and bounds."""

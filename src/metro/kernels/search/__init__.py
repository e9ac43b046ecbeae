"""Compiled loops of the backward search."""

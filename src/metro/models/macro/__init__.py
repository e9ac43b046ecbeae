"""Macro models of the hierarchical baselines."""

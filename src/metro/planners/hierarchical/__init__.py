"""Hierarchical baselines: a learned macro model, its training, and its planners."""

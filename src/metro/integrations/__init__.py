"""Adapters to heavy libraries; the only home of torch and of environments."""

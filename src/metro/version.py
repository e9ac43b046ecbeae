"""The version, in one place; no metadata has to be searched for it."""

__version__ = "0.1.0"

"""Compiled loops that find nearest frames."""

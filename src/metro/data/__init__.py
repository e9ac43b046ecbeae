"""Corpora: recorded episodes, how they are read, encoded and collected.

Decision: D34.
"""

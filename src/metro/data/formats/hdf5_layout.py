"""Names in the layout of the released corpora, for readers and the writer."""

LENGTHS = "ep_len"
"""Column of the number of rows of every episode."""

OFFSETS = "ep_offset"
"""Column of the first row of every episode."""

PIXELS = "pixels"
"""Column of the frames."""

SETTINGS = "metro"
"""Attribute of an HDF5 file that says in JSON how metro recorded it."""

AGAIN = "It may be half written: record it or fetch it again."
"""What to do about a file that cannot be read."""

"""The formats a corpus may be stored in, one file each."""

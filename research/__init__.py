"""One-off investigations, with the JSON that each wrote. Not part of the wheel."""

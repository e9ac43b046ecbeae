"""The paper's analyses: each has rows of its own and a section of the report."""

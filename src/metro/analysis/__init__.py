"""From result rows to numbers: statistics, comparisons, the paper's tables."""

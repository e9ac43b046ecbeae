"""Success against the share of the episodes that the graph is made of."""

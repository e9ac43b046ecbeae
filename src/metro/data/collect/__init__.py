"""Recording corpora with scripted policies."""

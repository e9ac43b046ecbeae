"""The realisability residual of latents: states, sources, running, pictures."""

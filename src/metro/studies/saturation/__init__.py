"""Latent distance against frames: from how many frames on it says nothing."""

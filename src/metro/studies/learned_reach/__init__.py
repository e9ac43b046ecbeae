"""Learned reach: what training a head on the recordings buys as a bridge price."""

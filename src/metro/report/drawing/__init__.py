"""Storyboards and videos of routes and rollouts."""

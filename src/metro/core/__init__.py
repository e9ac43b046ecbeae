"""The paper's method on arrays: from latents to the next sub-goal."""

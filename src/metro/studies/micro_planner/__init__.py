"""A stronger micro planner: how much of its gain reaches far goals."""

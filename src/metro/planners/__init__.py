"""Planners: from an observation and a goal to actions."""

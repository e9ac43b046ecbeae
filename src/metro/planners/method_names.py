"""The names of all methods, by what they need."""

GRAPH_METHODS = ("metro", "committed")
"""Those that need a graph."""

HIERARCHICAL_METHODS = ("hi-lewm", "hi-lewm-c", "hi-lewm-c-staged")
"""Those that need a macro model on top of the world model."""

OPTIONS = {
    "hi-lewm": ("box",),
    "hi-lewm-c": ("leave-one-out",),
    "hi-lewm-c-staged": ("leave-one-out",),
}
"""What can be asked of a method beyond the authors' way. Decision: D21."""

MODEL_METHODS = (
    *GRAPH_METHODS,
    "flat",
    "oracle",
    "waypoints",
    *HIERARCHICAL_METHODS,
)
"""Those that need a world model."""

METHODS = (*MODEL_METHODS, "replay", "random", "stay")

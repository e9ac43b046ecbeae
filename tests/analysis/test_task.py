"""Names of tasks and methods."""

from metro.analysis.task import MethodKey


def test_a_label_names_only_what_is_unusual():
    """The label of a method is computed from its choices, and never read back."""
    plain = MethodKey("metro")
    assert (plain.label, plain.is_usual) == ("metro", True)
    chosen = MethodKey("hi-lewm-c", "leave-one-out", num_neighbours=8, quantile=0.1)
    assert chosen.label == "hi-lewm-c (leave-one-out, k = 8, α = 0.1)"
    assert not chosen.is_usual

"""Laws of what a macro model costs."""

from metro.models.macro.training_cost import MacroCost


def test_costs_are_told_with_and_without_metro():
    """What was not measured is said to be so."""
    assert str(MacroCost(10, 120.0, 90.0, None)) == (
        "10 steps, 2.0 minutes (1.5 of processor time); metro's offline cost was not "
        "measured"
    )
    assert str(MacroCost(10, 120.0, 90.0, 60.0)) == (
        "10 steps, 2.0 minutes (1.5 of processor time); metro's encoding, table and "
        "graph take 1.00 of it, ratio 1.5"
    )
    assert MacroCost(10, 120.0, 90.0, None).to_json()["ratio"] is None

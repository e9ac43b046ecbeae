"""The paper's results beside ours."""

from row_makers import METRO, runs

from metro.analysis.reproduce import reproduce


def test_reproduction_names_the_same_setting_or_our_best_or_a_command():
    """In this order; the command runs at 4 d, which answers for every smaller T."""
    same = runs({7: [140, 160], 8: [150, None]}, "metro", waypoint_budget=7)
    found = {
        (c.paper.method, c.paper.goal_distance, c.paper.step_budget): c
        for c in reproduce(METRO + same)
        if (c.paper.benchmark, c.paper.family) == ("tworoom", "lewm")
    }
    exact, best = found["metro", 75, 150], found["metro", 75, 90]
    assert (exact.is_same_cell, exact.ours.over_seeds[0]) == (True, 0.5)
    assert exact.to_json()["ours"]["mean"] == 50
    assert best.is_same_cell  # H = 8 at T = 90 is the paper's too
    assert not reproduce(METRO)[-1].is_same_cell
    missing = found["metro", 25, 50]
    assert missing.ours is None
    assert (
        "--graph tworoom.metro --waypoint-budget 8 --goal-distance 25"
        in missing.command
    )
    assert "--step-budget 100" in missing.command

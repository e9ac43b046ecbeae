"""Every stage equals its slow twin, on thousands of random corpora."""

import math

import numpy as np
import oracles
import pytest
from corpora import random_case

import metro

SEEDS = 250
BLOCKS = range(4)


def cases(block):
    for seed in range(block * SEEDS, (block + 1) * SEEDS):
        for lattice in (True, False):
            yield random_case(seed, lattice=lattice)


@pytest.mark.parametrize("block", BLOCKS)
def test_tables_equal(block):
    """find_neighbours = sorting all frames of other episodes by (gap, frame)."""
    for case in cases(block):
        table = case.table
        for u in case.oracle.frames:
            expected = oracles.nearest(
                case.oracle,
                case.oracle.z[u],
                case.num_neighbours,
                case.oracle.episode[u],
            )
            found = len(expected)
            assert table.frame[u, :found].tolist() == [v for _, v in expected]
            np.testing.assert_allclose(
                table.gap[u, :found], [delta for delta, _ in expected], rtol=1e-12
            )
            assert (table.frame[u, found:] == -1).all()
            assert (table.gap[u, found:] == np.inf).all()


@pytest.mark.parametrize("block", BLOCKS)
def test_prices_and_bridges_equal(block):
    """Λ, κ and the bridges = loops over pairs, scanning the curve, a set of pairs."""
    for case in cases(block):
        curve = oracles.pricing_gaps(case.oracle, case.waypoint_budget, 0.25)
        np.testing.assert_allclose(case.pricing.gaps, curve, rtol=1e-12, atol=1e-300)
        curve = case.pricing.gaps.tolist()
        expected = oracles.bridges(case.oracle, curve, case.num_neighbours)
        u, v, cost = case.graph.bridges()
        assert list(zip(u.tolist(), v.tolist(), strict=True)) == sorted(expected)
        np.testing.assert_allclose(
            cost, [expected[pair] for pair in sorted(expected)], rtol=1e-12
        )


@pytest.mark.parametrize("block", BLOCKS)
def test_routes_and_sub_goals_equal(block):
    """J, succ and the sub-goal = a heap on the explicitly augmented graph."""
    kinds = set()
    for case in cases(block):
        curve = case.pricing.gaps.tolist()
        question = (case.oracle, curve, case.num_neighbours, case.goal.tolist())
        total, successor = oracles.routes(*question, case.held_out)
        routes = case.routes
        np.testing.assert_allclose(routes.cost_to_go, total, rtol=1e-12)
        assert routes.successor.tolist() == successor
        choice, costs = oracles.sub_goal(
            *question, case.held_out, case.observed.tolist()
        )
        sub = metro.MetroPlanner(routes)(case.observed)
        assert (sub.kind.value, sub.frame, sub.entry, sub.hops) == choice
        assert (sub.spent, sub.cost_to_go) == pytest.approx(costs, rel=1e-12)
        kinds.add((sub.kind, sub.frame is None))
    assert len(kinds) >= 4  # every branch of Algorithm 1 was taken


@pytest.mark.parametrize("seed", range(300))
def test_proposition_1(seed):
    """Adding z_obs with out-edges only: J stays, and the backup is its exact cost."""
    case = random_case(seed, lattice=seed % 2 == 0)
    curve = case.pricing.gaps.tolist()
    goal, observed = case.goal.tolist(), case.observed.tolist()
    question = (case.oracle, curve, case.num_neighbours)
    out = oracles.edges(*question, case.held_out)
    for u, cost in oracles.goal_links(*question, goal, case.held_out).items():
        out[u][oracles.GOAL] = cost
    before = oracles.dijkstra(out, oracles.GOAL)
    near = oracles.nearest(case.oracle, observed, case.num_neighbours, case.held_out)
    inside = [link for link in near if link[0] <= curve[-1]] or near[:1]
    out[oracles.OBSERVED] = {u: oracles.price(curve, delta) for delta, u in inside}
    after = oracles.dijkstra(out, oracles.GOAL)
    exact = after.pop(oracles.OBSERVED, math.inf)
    assert after == before
    sub = metro.MetroPlanner(case.routes)(case.observed)
    assert sub.cost_to_go == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("seed", range(200))
def test_reachable_planner_ends_nearest_to_the_goal(seed):
    """no_route="reachable" walks to the reachable frame nearest to the goal."""
    case = random_case(seed, lattice=seed % 2 == 0)
    curve = case.pricing.gaps.tolist()
    goal, observed = case.goal.tolist(), case.observed.tolist()
    planner = metro.MetroPlanner(case.routes, no_route="reachable")
    sub = planner(case.observed)
    plain = metro.MetroPlanner(case.routes)(case.observed)
    if np.isfinite(plain.cost_to_go):
        assert (sub.kind, sub.frame, sub.path) == (plain.kind, plain.frame, plain.path)
        return
    out = oracles.edges(case.oracle, curve, case.num_neighbours, case.held_out)
    near = oracles.nearest(case.oracle, observed, case.num_neighbours, case.held_out)
    inside = [link for link in near if link[0] <= curve[-1]] or near[:1]
    reached = oracles.reachable(out, [u for _, u in inside])
    nearer = [
        (oracles.gap(case.oracle.z[u], goal), u)
        for u in reached
        if oracles.gap(case.oracle.z[u], goal) < oracles.gap(observed, goal)
    ]
    if not nearer:
        assert sub.kind is metro.SubGoalKind.GOAL_NO_ROUTE
        assert sub.frame is None
        return
    target = min(nearer)[1]
    assert sub.kind is metro.SubGoalKind.NEAREST_TO_GOAL
    assert sub.frame in reached
    costs = oracles.dijkstra(out, target)
    best = min((oracles.price(curve, d) + costs.get(u, math.inf), u) for d, u in inside)
    assert sub.entry == best[1]
    if best[0] <= case.waypoint_budget:
        assert sub.frame == target
    assert sub.hops == len(sub.path) - 1
    left = costs[sub.frame]
    assert sub.spent + left == pytest.approx(best[0])

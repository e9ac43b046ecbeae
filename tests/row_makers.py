"""Result rows that tests of analysis, reports and studies share."""


def row(query=0, seed=7, frames=None, method="flat", **changed):
    """Return one row; ``changed`` replaces fields of the setting or of the row."""
    setting = {
        "method": method,
        "plan_blocks": 1,
        "waypoint_budget": 8 if method == "metro" else None,
        "step_budget": 300,
        "planner_seed": seed,
    }
    setting |= {name: changed.pop(name) for name in setting.keys() & changed.keys()}
    return {
        "benchmark": "tworoom",
        "model": {"name": "lewm-small-tworoom", "digest": "m1", "family": "lewm"},
        "corpus": {"name": "tworoom.h5", "digest": "c1", "episodes": 2000},
        "queries": {"name": "tworoom-d75.csv", "digest": "q1"},
        "graph": "g1" if method == "metro" else None,
        "rendering": "stock",
        "versions": {"metro-wm": "0.1.0", "commit": "abcdef0123456"},
        "setting": setting,
        "query": {"episode": query, "start": 5, "goal": 80},
        "frames_to_success": frames,
        "is_presolved": False,
        "kinds": {"route": 3, "goal_in_reach": 1} if method == "metro" else {"goal": 4},
        "seconds": {"draw": 1.0, "encode": 1.0, "search": 2.0 * (method == "metro"),
                    "entry": 0.0, "plan": 7.0, "step": 1.0},
        "batch": 25,
    } | changed  # fmt: skip


def runs(solves, method="flat", **changed):
    """Return a row a seed and frame count: {seed: [frames, ...]}."""
    return [
        row(query, seed, frames, method, **changed)
        for seed, found in solves.items()
        for query, frames in enumerate(found)
    ]

"""Result rows that tests of analysis, reports and studies share."""

from metro.analysis.grouping import group_rows
from metro.report.document import Picture, Text
from metro.report.study import Section, Study


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
    """Return one row per seed and frame count: {seed: [frames, ...]}."""
    return [
        row(query, seed, frames, method, **changed)
        for seed, found in solves.items()
        for query, frames in enumerate(found)
    ]


METRO = runs({7: [50, 80, 200, None], 8: [60, 90, 210, 290]}, "metro")
FLAT = runs({7: [90, None, None, None], 8: [95, 280, None, None]}, plan_blocks=15)
SHORT = runs({7: [100, 140, None, None], 8: [None, 149, None, None]}, plan_blocks=3)
ROWS = METRO + FLAT + SHORT


def only(rows):
    """Return the one configuration of some rows."""
    (config,) = group_rows(rows)
    return config


def hierarchical(**more):
    """Return two runs of a hierarchical planner; ``more`` changes the setting."""
    found = runs({7: [30, None]}, "hi-lewm-c")
    return [told | {"setting": told["setting"] | more} for told in found]


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c626001000000050001a5f645400000000049454e44ae426082"
)


def study(**changed):
    """Return a study whose section is its number of rows and a picture."""

    def render(rows):
        blocks = (Text(f"{len(rows)} rows."), Picture("a.png", "a plot"))
        return Section(blocks, {"a.png": PNG})

    fields = {"name": "one", "title": "Study", "question": "Why?", "command": "metro x"}
    return Study(**(fields | changed), render=render)

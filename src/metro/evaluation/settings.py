"""The settings that the options of a verb ask for."""

from collections.abc import Sequence

from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig
from metro.evaluation.records import Setting
from metro.planners.methods.registry import find_method
from metro.storage.artefacts import load_graph


def choose_settings(  # noqa: PLR0913  (one argument per option of the verb)
    source: EvalConfig,
    method: str,
    *,
    goal_distance: int,
    plan_blocks: int | None,
    waypoint_budget: int | None,
    step_budget: int | None,
    planner_seeds: Sequence[int],
    macro_steps: int | None = None,
    option: str | None = None,
) -> list[Setting]:
    """Return the settings of a method, one per seed.

    Where nothing is chosen, T is 2 d, H is the graph's own, and the method has its own
    h and macro steps.
    """
    chosen = find_method(method)
    blocks = chosen.choose_plan_blocks(plan_blocks)
    macro_steps = chosen.choose_macro_steps(macro_steps)
    # The shorter of the two budgets that methods are compared at, 2 d and 4 d.
    steps = 2 * goal_distance if step_budget is None else step_budget
    # An H of a method without a graph is refused by `Setting`, with a reason.
    if chosen.needs_graph:
        if source.graph is None:
            raise BenchmarkError(f"method {method} needs a graph: metro build LATENTS.")
        # Read only where no H was chosen: a graph takes time to load.
        if waypoint_budget is None:
            waypoint_budget = load_graph(source.graph).waypoint_budget
    shared = (chosen.name, blocks, waypoint_budget, steps)
    return [Setting(*shared, seed, macro_steps, option) for seed in planner_seeds]

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
    plan_blocks: Sequence[int] | None,
    waypoint_budgets: Sequence[int] | None,
    step_budget: int,
    planner_seeds: Sequence[int],
    macro_steps: int | None = None,
    option: str | None = None,
) -> list[Setting]:
    """Return the settings of a method for all combinations of h, H and seed.

    Where nothing is chosen, H is the graph's own and the method has its own h and
    macro steps.
    """
    chosen = find_method(method)
    plan_blocks = chosen.choose_plan_blocks(plan_blocks)
    macro_steps = chosen.choose_macro_steps(macro_steps)
    budgets: Sequence[int | None] = [None]
    if chosen.needs_graph:
        if source.graph is None:
            raise BenchmarkError(f"method {method} needs a graph: metro build LATENTS.")
        # Read only where no H was chosen: a graph takes time to load.
        budgets = waypoint_budgets or [load_graph(source.graph).waypoint_budget]
    elif waypoint_budgets:
        budgets = waypoint_budgets  # refused by `Setting`, with a reason
    return [
        Setting(chosen.name, blocks, budget, step_budget, seed, macro_steps, option)
        for budget in budgets
        for blocks in plan_blocks
        for seed in planner_seeds
    ]

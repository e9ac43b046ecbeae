"""The hierarchical methods as `Method` objects: what they differ in, and how they plan.

Imports no torch until a query is planned, so that reports can name these methods.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from metro.planners.closed_loop import MicroPlanner, SubgoalSelector
from metro.planners.methods.method import Method, Plan, QueryLike

if TYPE_CHECKING:
    from metro.planners.hierarchical.budgets import HierarchySettings
    from metro.planners.hierarchical.hierarchy import Hierarchy

STAGES = 2
"""Macro steps of the staged method, each a stage."""

MICRO_BLOCKS = 2
"""Blocks that the micro level of every hierarchical method plans."""

LEAVE_ONE_OUT, BOX = "leave-one-out", "box"


@dataclass(frozen=True)
class MacroVariant:
    """What the hierarchical methods differ in.

    Attributes:
        name: The method's name, for messages.
        has_bank: Whether candidates come from a bank of recorded sequences.
        is_staged: Whether there is one macro search only, at the start.
    """

    name: str
    has_bank: bool
    is_staged: bool = False


def hierarchical_method(variant: MacroVariant, *, label: str, order: int) -> Method:
    """Return a hierarchical method; its options follow from having a bank or not."""
    return Method(
        variant.name,
        label=label,
        order=order,
        make_selector=partial(_make_selector, variant),
        make_micro_planner=partial(_make_micro_planner, variant),
        check=partial(_check, variant),
        needs_macro=True,
        options=(LEAVE_ONE_OUT,) if variant.has_bank else (BOX,),
        default_plan_blocks=MICRO_BLOCKS,
        fixed_plan_blocks=True,
        default_macro_steps=STAGES if variant.is_staged else 1,
        fixed_macro_steps=variant.is_staged,
    )


def _make_selector(
    variant: MacroVariant, plan: Plan, query: QueryLike, seed: int
) -> SubgoalSelector:
    hierarchy = _hierarchy(variant, plan, query.goal_distance)
    goal = plan.context.goal_latent(query)
    return hierarchy.make_selector(goal, seed=seed, episode=query.episode)


def _make_micro_planner(
    variant: MacroVariant,
    plan: Plan,
    queries: Sequence[QueryLike],
    seeds: Sequence[int],
) -> MicroPlanner:
    # All queries of a file have one goal distance, which decides the budgets.
    hierarchy = _hierarchy(variant, plan, queries[0].goal_distance)
    return hierarchy.make_micro_planner(seeds)


def _check(variant: MacroVariant, plan: Plan, goal_distances: Sequence[int]) -> None:
    from metro.models.adapter import require_frozen
    from metro.planners.hierarchical.hierarchy import require_macro

    model = require_frozen(plan.context.model, variant.name)
    require_macro(variant.name, plan.context.macro, model)
    # Called for its errors: a distance without a published budget is refused now.
    for distance in goal_distances:
        _settings(variant, plan, distance)


def _settings(variant: MacroVariant, plan: Plan, distance: int) -> "HierarchySettings":
    from metro.planners.hierarchical.budgets import hierarchy_settings

    assert plan.macro_steps is not None  # `Setting` has one for every such method
    return hierarchy_settings(
        variant,
        distance,
        macro_steps=plan.macro_steps,
        leave_one_out=plan.option == LEAVE_ONE_OUT,
        clip_to_box=plan.option == BOX,
    )


def _hierarchy(variant: MacroVariant, plan: Plan, distance: int) -> "Hierarchy":
    """Return the method with its bank, which takes seconds and is made once."""
    from metro.models.adapter import require_frozen
    from metro.planners.hierarchical.hierarchy import prepare_hierarchy

    context = plan.context
    return context.once(
        # Without the planner seed: all seeds share a bank.
        (variant, plan.macro_steps, plan.option, distance),
        lambda: prepare_hierarchy(
            _settings(variant, plan, distance),
            require_frozen(context.model, variant.name),
            context.macro,
            context.corpus,
        ),
    )

"""The hierarchical baselines put together: selectors and micro planners."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from metro.data.corpus import Corpus
from metro.data.provenance import require_fitting
from metro.errors import ModelError
from metro.models.action_stats import ActionStats, raw_actions, stats_for
from metro.models.frozen import FrozenModel
from metro.models.macro.model import MacroModel
from metro.planners.cem import make_stream
from metro.planners.hierarchical.bank import Bank, Recorded, build_bank, calibrate_box
from metro.planners.hierarchical.budgets import HierarchySettings
from metro.planners.hierarchical.macro_cem import BankCEM, LatentCEM, MacroSolver
from metro.planners.hierarchical.macro_selectors import (
    HierarchicalSelector,
    StagedSelector,
)
from metro.planners.hierarchical.receding import RecedingPlanner
from metro.types import Vector


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """One hierarchical method, ready for queries; made by `prepare_hierarchy`.

    Attributes:
        settings: Method, budgets and options.
        model: The frozen world model.
        macro: The macro model on top of it.
        action_stats: How its actions are normalised.
        bank: Of recorded sequences; None for hi-lewm.
        box: ``[2, E]`` if candidates are kept in it.
    """

    settings: HierarchySettings
    model: FrozenModel
    macro: MacroModel
    action_stats: ActionStats
    bank: Bank | None
    box: Tensor | None

    def make_selector(
        self, goal: Vector, *, seed: int, episode: int
    ) -> HierarchicalSelector | StagedSelector:
        """Return the sub-goal selector of one query.

        Args:
            goal: ``[D]``.
            seed: Random seed of the query; the macro level draws from its own stream.
            episode: The query's episode, left out of the bank with leave_one_out.
        """
        chosen = self.settings
        solver, stream = self._solver(episode), macro_stream(seed)
        if chosen.variant.is_staged:
            return StagedSelector(
                solver, goal, stream, stage_frames=chosen.stage_frames
            )
        return HierarchicalSelector(
            solver,
            goal,
            stream,
            replan_interval=chosen.replan_interval,
            # With a bank every search draws new sequences: no mean to carry over.
            warm_start=not chosen.variant.has_bank,
        )

    def make_micro_planner(self, seeds: Sequence[int]) -> RecedingPlanner:
        """Return the micro planner of a batch of queries, one seed each."""
        chosen = self.settings
        return RecedingPlanner(
            self.model,
            chosen.micro,
            seeds,
            action_stats=self.action_stats,
            cuts=chosen.cuts,
        )

    def _solver(self, episode: int) -> MacroSolver:
        chosen, bank = self.settings, self.bank
        if bank is None:
            return LatentCEM(self.macro, chosen.macro, self.box)
        if chosen.leave_one_out:
            bank = bank.without(episode)
        return BankCEM(self.macro, chosen.macro, bank)


def prepare_hierarchy(
    settings: HierarchySettings,
    model: FrozenModel,
    macro: MacroModel | None,
    corpus: Corpus,
    *,
    bank_seed: int = 0,
) -> Hierarchy:
    """Return a method with its bank or box; all parts must belong together.

    Args:
        settings: As `hierarchy_settings` returns them.
        model: The frozen world model.
        macro: Trained on its latents.
        corpus: Whose actions fill the bank, and calibrate the box; its statistics
            normalise actions if the model has none.
        bank_seed: Of what is drawn from the corpus.
    """
    macro = require_macro(settings.variant.name, macro, model)
    require_fitting(corpus, model)
    stats = stats_for(model, corpus)
    recorded = Recorded(raw_actions(corpus), np.asarray(corpus.lengths), stats)
    bank, box = None, None
    if settings.variant.has_bank:
        bank = build_bank(
            recorded,
            model,
            macro,
            macro_steps=settings.macro.macro_steps,
            size=settings.bank_size,
            seed=bank_seed,
        )
    if settings.clip_to_box:
        box = calibrate_box(recorded, model, macro, seed=bank_seed)
    return Hierarchy(settings, model, macro, stats, bank, box)


def require_macro(
    method: str, macro: MacroModel | None, model: FrozenModel
) -> MacroModel:
    """Return the macro model if there is one and it belongs to ``model``."""
    if macro is None:
        raise ModelError(
            f"method {method} needs a macro model. Train one: metro train-macro "
            f"BENCHMARK."
        )
    macro.require_encoder(model)
    return macro


def macro_stream(seed: int) -> torch.Generator:
    """Return a query's random numbers for the macro level, not those of the micro."""
    # Micro planners seed their stream with the seed itself; the 1 keeps them apart.
    return make_stream(int(np.random.SeedSequence([seed, 1]).generate_state(1)[0]))

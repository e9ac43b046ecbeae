"""Plans with flat, metro and oracle, with a world model and with a fine-tuned one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from metro.errors import BenchmarkError, ModelError, short
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.records import (
    Record,
    Setting,
    by_key,
    read_records,
    run_key,
)
from metro.models.frozen import FrozenModel
from metro.models.loading import load_frozen
from metro.planners.methods.flat import FLAT
from metro.planners.methods.oracle import ORACLE
from metro.studies.micro_planner.show_micro_planner import BASE, FINE_TUNED, METHODS
from metro.studies.planning import PlanningConfig, plan_in_each
from metro.types import ProgressBar

_ENCODER = ("encoder.", "projector.")
"""Names of the tensors that latents depend on begin like this."""


@dataclass(frozen=True)
class MicroPlannerConfig:
    """What the study plans: with the base model of ``plan`` and a fine-tuned one."""

    plan: PlanningConfig
    fine_tuned: str
    fine_tuned_graph: Path | None = None
    """None: its encoder is the base's, and so is its graph."""
    methods: Sequence[str] = METHODS
    flat_blocks: int = 2

    def __post_init__(self) -> None:
        unknown = sorted(set(self.methods) - set(METHODS))
        if unknown:
            raise BenchmarkError(
                f"The study compares {', '.join(METHODS)}, got {unknown[0]!r}."
            )

    def settings(self) -> list[Setting]:
        """Return the settings of all methods: flat has its own h, oracle metro's."""
        found = []
        for metro in self.plan.metro_settings():
            # No graph, no H: these rows must have the run keys of metro evaluate.
            oracle = replace(metro, method=ORACLE.name, waypoint_budget=None)
            flat = replace(oracle, method=FLAT.name, plan_blocks=self.flat_blocks)
            found += [
                one for one in (flat, metro, oracle) if one.method in self.methods
            ]
        return found

    def contexts(self) -> list["ModelConfig"]:
        """Return where the parts are, with the base model and the fine-tuned one."""
        source = self.plan.source
        base = ModelConfig(**vars(source), base=source.model)
        tuned = replace(
            base,
            model=self.fine_tuned,
            graph=self.fine_tuned_graph or source.graph,
            own_graph=self.fine_tuned_graph is not None,
        )
        return [base, tuned]


def run(config: MicroPlannerConfig, bar: ProgressBar) -> list[Record]:
    """Plan every query with both models; return all rows."""
    contexts = config.contexts()
    # Loaded before anything is planned: a wrong pair is found in seconds, not hours.
    base, tuned = (
        load_frozen(one.model, trust_pickle=one.trust_pickle) for one in contexts
    )
    # Equal weights plan alike: the gain would be zero and mean nothing.
    if base.digest == tuned.digest:
        raise ModelError(
            f"--model and --fine-tuned are the same weights ({short(base.digest)}). "
            f"Give a model that was fine-tuned: metro train --init."
        )
    _require_roles(base, tuned, config.plan.output)
    settings = config.settings()
    names = dict.fromkeys(setting.method for setting in settings)
    title = f"{', '.join(names)}, two models"
    return plan_in_each(contexts, settings, config.plan, bar=bar, title=title)


def require_same_encoder(base: FrozenModel, tuned: FrozenModel) -> None:
    """Raise `ModelError` unless both models give the same latents. Decision: D27."""
    ours, theirs = (
        {
            name: tensor
            for name, tensor in model.network.state_dict().items()
            if name.startswith(_ENCODER)
        }
        for model in (base, tuned)
    )
    # Equal to the bit: training does not touch a frozen encoder.
    same = ours.keys() == theirs.keys() and all(
        torch.equal(ours[name], theirs[name]) for name in ours
    )
    # The same weights give other latents of pictures of another size.
    if not same or base.image_size != tuned.image_size:
        raise ModelError(
            f"{tuned.name} has another encoder than {base.name}, so the graph does not "
            f"fit it. Encode and build with it, and give --fine-tuned-graph."
        )


@dataclass(frozen=True)
class ModelConfig(EvalConfig):
    """Where the parts are, and which model this one is a version of.

    Attributes:
        base: The model before fine-tuning; equal to ``model`` for the base itself.
        own_graph: Whether the graph is of ``model`` itself; else it is of the base,
            whose encoder must be the same.
    """

    base: str = ""
    own_graph: bool = True

    def open(self) -> EvalContext:
        """Open all parts; the encoders are compared if the graph is the base's."""
        base = load_frozen(self.base, trust_pickle=self.trust_pickle)
        if not self.own_graph:
            tuned = load_frozen(self.model, trust_pickle=self.trust_pickle)
            require_same_encoder(base, tuned)
        opened = super().open()
        return replace(
            opened,
            # The graph was encoded with the base, and that is the digest it names.
            encoder_digest=None if self.own_graph else base.digest,
            extra_metadata=_role(opened.model.digest, base.digest),
        )


def _role(digest: str | None, base: str) -> dict[str, Any]:
    return {"base": base, "role": BASE if digest == base else FINE_TUNED}


def _require_roles(base: FrozenModel, tuned: FrozenModel, path: Path) -> None:
    """Raise `BenchmarkError` if a file has one of the models as something else."""
    models = {model.digest: model for model in (base, tuned)}
    # Run keys have no role: resuming would silently keep rows of the wrong one.
    for row in by_key(read_records(path), run_key).values():
        model = models.get(str((row.get("model") or {}).get("digest")))
        if model is None:
            continue
        role = _role(model.digest, base.digest)
        if any(row.get(name) != value for name, value in role.items()):
            raise BenchmarkError(
                f"{path} has rows of {model.name} in another role or "
                f"of another study. Use another file."
            )

"""Flat, metro and oracle with a world model and with a fine-tuned one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from metro.errors import BenchmarkError, ModelError
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.grid import evaluate_grid
from metro.evaluation.queries import QuerySet
from metro.evaluation.records import Setting, read_records
from metro.evaluation.run import Records
from metro.models.frozen import FrozenModel
from metro.models.loading import load_model
from metro.studies.micro_planner.section import BASE, FINE_TUNED, METHODS
from metro.studies.reuse import adopt_rows

_ENCODER = ("encoder.", "projector.")
"""The tensors that latents depend on."""


@dataclass(frozen=True)
class ModelSource(EvalConfig):
    """Where the parts are, and which model it is a version of.

    Attributes:
        base: The model before fine-tuning; the same as ``model``: it is the base.
        own_graph: Whether the graph is of ``model`` itself; else of the base, whose
            encoder must be the same.
    """

    base: str = ""
    own_graph: bool = True

    def open(self) -> "ModelContext":
        """Open all of them; the encoders are compared if the graph is the base's."""
        base = load_model(self.base, trust_pickle=self.trust_pickle)
        opened = super().open()
        if not self.own_graph:
            try:
                require_same_encoder(base, opened.model)
            except BaseException:
                opened.close()
                raise
        return ModelContext(
            opened.benchmark,
            opened.corpus,
            opened.model,
            opened.graph,
            encoder_digest=None if self.own_graph else base.digest,
            base=base.digest,
        )


@dataclass
class ModelContext(EvalContext):
    """A context whose rows say which of the two models it has."""

    base: str = ""

    def remarks(self) -> dict[str, Any]:
        """Return the base's digest, and whether this is it."""
        is_base = self.model.digest == self.base
        return {"base": self.base, "role": BASE if is_base else FINE_TUNED}


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
    same = ours.keys() == theirs.keys() and all(
        torch.equal(ours[name], theirs[name]) for name in ours
    )
    if not same or base.image_size != tuned.image_size:
        raise ModelError(
            f"{tuned.name} has another encoder than {base.name}, the graph does not "
            f"fit it. Encode and build with it, and give --fine-tuned-graph."
        )


def require_two(base: FrozenModel, tuned: FrozenModel) -> None:
    """Raise `ModelError` if both are the same model."""
    if base.digest == tuned.digest:
        raise ModelError(
            f"--model and --fine-tuned are the same weights ({base.digest[:12]}). "
            f"Give a model that was trained on: metro train --init."
        )


def choose_methods(wanted: Sequence[str] | None) -> tuple[str, ...]:
    """Return the methods asked for, in order; all of them if nothing was."""
    unknown = sorted(set(wanted or ()) - set(METHODS))
    if unknown:
        raise BenchmarkError(
            f"The study compares {', '.join(METHODS)}, got {unknown[0]!r}."
        )
    return tuple(method for method in METHODS if method in (wanted or METHODS))


def settings_of(
    metro: Setting, flat_blocks: int, methods: Sequence[str] = METHODS
) -> list[Setting]:
    """Return the settings of methods: flat has its own h, oracle has metro's."""
    others = replace(metro, method="oracle", waypoint_budget=None)
    found = {
        "flat": replace(others, method="flat", plan_blocks=flat_blocks),
        "metro": metro,
        "oracle": others,
    }
    return [found[method] for method in methods]


def run_micro_planner(
    source: ModelSource,
    tuned: ModelSource,
    settings: list[Setting],
    queries: QuerySet,
    path: Path,
    *,
    known: Sequence[dict[str, Any]] = (),
    **running: Any,
) -> Records:
    """Plan every query with both models; return all rows.

    Records that the file already has, or that ``metro evaluate`` wrote, are not
    planned again.

    Args:
        source: With the base model.
        tuned: With the fine-tuned one.
        settings: Of the methods.
        queries: What to reach.
        path: Records (.jsonl).
        known: Records of ``metro evaluate``.
        running: ``batch``, ``workers`` and ``progress`` of `evaluate_grid`.
    """
    models = [load_model(one.model) for one in (source, tuned)]
    require_two(*models)
    for one in (source, tuned):
        with one.open() as context:
            for setting in settings:
                context.check(setting, queries)
            _require_role(context, path)
    for one in (source, tuned):
        adopt_rows(one, settings, queries, known, path)
    return [
        row
        for one in (source, tuned)
        for row in evaluate_grid(one, settings, queries, path, **running)
    ]


def _require_role(context: ModelContext, path: Path) -> None:
    """Raise `BenchmarkError` if a file has this model as a version of another."""
    told = context.remarks()
    for row in read_records(path):
        if (row.get("model") or {}).get("digest") != context.model.digest:
            continue
        if any(row.get(name) != value for name, value in told.items()):
            raise BenchmarkError(
                f"{path} has rows of {context.model.name} in another role or "
                f"of another study. Use another file."
            )

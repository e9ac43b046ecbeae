"""What every row says about where it comes from."""

from pathlib import Path
from typing import Any

import torch

from metro.data.collect.spec import library_versions
from metro.envs.rendering import find_renderer
from metro.evaluation.context import EvalContext
from metro.evaluation.queries import QuerySet
from metro.evaluation.records import Setting
from metro.planners.methods.registry import find_method
from metro.version import commit


def row_metadata(
    context: EvalContext, queries: QuerySet, setting: Setting
) -> dict[str, Any]:
    """Return names, digests and versions: enough to plan the same queries again."""
    model, corpus = context.model, context.corpus
    # A graph that the method does not use must not make its rows look different.
    graph = context.graph if setting.waypoint_budget is not None else None
    return {
        "benchmark": context.benchmark.name,
        "model": {"name": model.name, "family": model.family, "digest": model.digest}
        if find_method(setting.method).needs_model
        else None,
        "corpus": {
            "name": Path(corpus.name).name,
            "digest": corpus.digest,
            "episodes": corpus.num_episodes,
        },
        "trained_on_corpus": _trained_on(context, setting),
        "macro": _macro(context, setting),
        "queries": {"name": queries.name, "digest": queries.digest},
        "graph": None if graph is None else graph.latents.digest,
        "graph_options": None
        if graph is None
        else {
            "num_neighbours": graph.num_neighbours,
            "quantile": graph.pricing.quantile,
        },
        "rendering": model.rendering,
        "device": str(model.device),
        # Between instruction sets latents may differ in the last bit.
        "processor": torch.backends.cpu.get_cpu_capability(),
        "renderer": str(find_renderer(context.benchmark)),
        "versions": library_versions() | {"commit": commit()},
        **context.extra_metadata,
    }


def _trained_on(context: EvalContext, setting: Setting) -> bool | None:
    """Return whether the model has seen this corpus; None: its file does not say."""
    if not find_method(setting.method).needs_model:
        return None
    seen = (context.model.notes.get("corpus") or {}).get("digest")
    return None if seen is None else bool(seen == context.corpus.digest)


def _macro(context: EvalContext, setting: Setting) -> dict[str, str] | None:
    if not find_method(setting.method).needs_macro or context.macro is None:
        return None
    return {"name": context.macro.name, "digest": context.macro.digest}

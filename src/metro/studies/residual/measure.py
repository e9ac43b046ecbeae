"""One latent measured in its environment: warm starts, pictures, search, rows."""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import load_benchmark
from metro.core.latents import Latents
from metro.data.corpus import open_corpus
from metro.data.provenance import require_fitting
from metro.envs.state_space import States
from metro.envs.state_spaces import OpenAdapter
from metro.errors import BenchmarkError, LatentsError
from metro.evaluation.context import EvalConfig
from metro.kernels.neighbours.gaps import squared_gaps
from metro.models.devices import choose_device
from metro.models.loading import load_frozen
from metro.storage.artefacts import load
from metro.storage.made_from import Provenance
from metro.studies.residual.state_search import Budget, Starts, search_states
from metro.studies.residual.targets import digest_of
from metro.types import Vector

_FIRST_SPREAD = 0.4
"""Spread of the first candidates, in standard deviations of recorded states."""


class SearchContext:
    """An environment, a model and recorded states, to measure latents with.

    The file ``latents`` has latents, or a graph, of the source's corpus and model.
    """

    def __init__(self, source: EvalConfig, latents: Path) -> None:
        self.benchmark = load_benchmark(source.benchmark)
        model = load_frozen(source.model, trust_pickle=source.trust_pickle)
        # On the CPU unless asked: rows of one study are then equal to the last bit.
        self.model = model.to(choose_device(source.device or "cpu"))
        loaded = load(latents)
        # A graph holds its latents: whoever has the graph needs no second file.
        self.latents: Latents = getattr(loaded, "latents", loaded)
        with open_corpus(source.corpus) as corpus:
            corpus.require(self.benchmark)
            require_fitting(corpus, self.model, self.benchmark.name)
            made = Provenance.of(self.latents)
            made.require(model=self.model.digest, corpus=corpus.digest)
            self._open = self._open_adapter()
            self.states = self._open.stage.read(corpus)
            self.corpus = {"name": Path(corpus.name).name, "digest": corpus.digest}
        self.space = self._open.stage.space
        widths = self.space.high - self.space.low
        # The lower limit is for parameters that recordings never change: they are
        # searched too.
        usual = np.clip(self.states.std(axis=0), 0.01 * widths, 0.25 * widths)
        self._spread = _FIRST_SPREAD * usual

    def close(self) -> None:
        """Close the environment."""
        self._open.close()

    def encode(self, states: States) -> NDArray[np.float32]:
        """Return the latents ``[K, D]`` of states ``[K, S]``."""
        latents: NDArray[np.float32] = self.model.encode(self._open.pictures(states))
        return latents

    def measure(
        self, target: Vector, budgets: Sequence[Budget], seed: int
    ) -> list[dict[str, Any]]:
        """Return what the rows of a latent say, one per budget.

        The smaller budget's result is read off the larger one's search. After an
        environment fails, its rows have the error, and it is opened again.
        """
        started = time.perf_counter()
        frames, gaps = self.nearest(target, max(b.restarts for b in budgets))
        measured = {
            "nearest": {"frame": int(frames[0]), "gap": float(gaps[0])},
            "own_frame": self.own_frame(target),
        }
        try:
            found = self._search(target, frames, budgets, seed)
        # Our own errors mean wrong input, which every other latent would meet too.
        except (BenchmarkError, LatentsError):
            raise
        except Exception as error:  # simulators raise errors of any type
            message = f"{type(error).__name__}: {error}"
            with suppress(Exception):  # what died may not close either
                self._open.close()
            self._open = self._open_adapter()
            found = [{"residual": None, "error": message} for _ in budgets]
        # One search serves all budgets, so each row has the time of the whole search.
        seconds = round(time.perf_counter() - started, 2)
        return [measured | row | {"seconds": seconds} for row in found]

    def _search(
        self, target: Vector, frames: NDArray[Any], budgets: Sequence[Budget], seed: int
    ) -> list[dict[str, Any]]:
        largest = Budget(
            max(budget.restarts for budget in budgets),
            max(budget.iterations for budget in budgets),
            # Budgets share it: a search with more is not a smaller one continued.
            budgets[0].candidates,
        )
        history = search_states(
            target,
            self.space,
            self.encode,
            Starts(self.states[frames], self._spread),
            budget=largest,
            # With the latent's digest: its row is the same in any order and any subset.
            seed=(seed, int(digest_of(target)[:8], 16)),
        )
        return [
            {
                "residual": best.residual,
                "state": [float(value) for value in best.state],
                "num_renders": best.num_renders,
                # Only for a look; the residual itself is kept in full.
                "course": [round(gap, 5) for gap in history.best_so_far(budget)],
                "error": None,
            }
            for budget in budgets
            for best in [history.within(budget)]
        ]

    def nearest(
        self, target: Vector, count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the nearest recorded frames, of different episodes, and their gaps.

        Where a frame is the latent itself, its whole episode is left out: a search
        that is handed the answer tests nothing.
        """
        squared = squared_gaps(self.latents.z, np.asarray(target))
        own = self.own_frame(target)
        if own is not None:
            squared[self.latents.rows_of(int(self.latents.episode_of(own)))] = np.inf
        # Stable: equal gaps keep the corpus' order on every machine.
        order = np.argsort(squared, kind="stable")
        order = order[np.isfinite(squared[order])]
        if len(order) < count:
            raise BenchmarkError(
                f"{count} restarts need frames of other episodes, the corpus has "
                f"{len(order)}. Record more."
            )
        # One start per episode first: frames of one recording are nearly alike.
        _, first = np.unique(self.latents.episode_of(order), return_index=True)
        others = np.setdiff1d(np.arange(len(order)), first)[:count]
        kept = order[np.concatenate([np.sort(first), others])[:count]]
        return kept, np.sqrt(squared[kept])

    def own_frame(self, target: Vector) -> int | None:
        """Return the recorded frame that a latent is, bit for bit; None: it is none."""
        same = (self.latents.z == np.asarray(target)).all(axis=1)
        return int(same.argmax()) if same.any() else None

    def _open_adapter(self) -> OpenAdapter:
        return OpenAdapter(self.benchmark, self.model.image_size, self.model.rendering)

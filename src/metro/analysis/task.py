"""What methods are compared on, and what a method is called."""

from dataclasses import dataclass, field
from pathlib import Path

UNKNOWN = "not recorded"


@dataclass(frozen=True, order=True)
class Task:
    """What methods are compared on: rows of one task answer the same queries.

    Attributes:
        benchmark: Name of the benchmark, such as ``tworoom``.
        family: Family of the world model: ``lewm`` or ``pldm``.
        goal_distance: d, frames.
        model: Name of the world model.
        corpus: Name of the corpus.
        queries: Name of the query file.
        rendering: How frames were drawn.
        digests: Digests of model, corpus and queries.
        episodes: Number of episodes of the corpus; None: not recorded.
    """

    benchmark: str
    family: str
    goal_distance: int
    model: str
    corpus: str
    queries: str
    rendering: str
    digests: tuple[str, str, str] = field(repr=False)
    # Older rows do not have it: it must not split a task in two.
    episodes: int | None = field(default=None, compare=False)

    @property
    def recordings(self) -> str:
        """Which corpus, and how many episodes it has."""
        name = Path(self.corpus).stem
        return name if self.episodes is None else f"{name}, {self.episodes:,} episodes"

    @property
    def title(self) -> str:
        """What to call the task, if there is one corpus of its benchmark only."""
        return f"{self.benchmark}, {self.family}, d = {self.goal_distance}"


@dataclass(frozen=True)
class MethodKey:
    """A method and what was chosen otherwise than usual.

    Attributes:
        name: One of the known methods, such as ``metro``.
        option: Option of the method; None: as its authors run it.
        num_neighbours: k of the graph; None: the usual one, or no graph.
        quantile: α of the graph; None: the usual one, or no graph.
    """

    name: str
    option: str | None = None
    num_neighbours: float | None = None
    quantile: float | None = None

    @property
    def is_usual(self) -> bool:
        """Whether nothing was chosen otherwise than usual."""
        return self == MethodKey(self.name)

    @property
    def choices(self) -> str:
        """What was chosen otherwise than usual, such as ``leave-one-out, k = 8``."""
        chosen = [self.option] if self.option else []
        chosen += [
            f"{letter} = {value:g}"
            for letter, value in (("k", self.num_neighbours), ("α", self.quantile))
            if value is not None
        ]
        return ", ".join(chosen)

    @property
    def label(self) -> str:
        """The name for tables, with unusual choices in brackets."""
        return self.name + (f" ({self.choices})" if self.choices else "")

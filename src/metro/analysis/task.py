"""What methods are compared on, and what a method is called."""

from dataclasses import dataclass, field
from pathlib import Path

UNKNOWN = "not recorded"


@dataclass(frozen=True, order=True)
class Task:
    """What methods are compared on: rows of one task answer the same queries."""

    benchmark: str
    family: str
    """Of the world model: ``lewm`` or ``pldm``."""
    goal_distance: int
    """d, frames."""
    model: str
    corpus: str
    queries: str
    rendering: str
    digests: tuple[str, str, str] = field(repr=False)
    """Of model, corpus and queries."""
    # Older rows do not have it: it must not split a task in two.
    episodes: int | None = field(default=None, compare=False)

    @property
    def recordings(self) -> str:
        """Which corpus, and how many episodes it has."""
        name = Path(self.corpus).stem
        return name if self.episodes is None else f"{name}, {self.episodes:,} episodes"

    @property
    def usual_budgets(self) -> tuple[int, int]:
        """The budgets T that methods are compared at: 2 d and 4 d."""
        return 2 * self.goal_distance, 4 * self.goal_distance

    @property
    def title(self) -> str:
        """What to call the task, if there is one corpus of its benchmark only."""
        return f"{self.benchmark}, {self.family}, d = {self.goal_distance}"


@dataclass(frozen=True)
class MethodKey:
    """A method and what was chosen otherwise than usual; None: as usual."""

    name: str
    option: str | None = None
    num_neighbours: float | None = None
    """k of the graph."""
    quantile: float | None = None
    """α of the graph."""

    @property
    def is_usual(self) -> bool:
        """Whether nothing was chosen otherwise than usual."""
        return self == MethodKey(self.name)

    @property
    def choices(self) -> str:
        """What was chosen otherwise than usual, such as ``leave-one-out, k = 8``."""
        numbers = (("k", self.num_neighbours), ("α", self.quantile))
        chosen = [f"{letter} = {n:g}" for letter, n in numbers if n is not None]
        return ", ".join([*filter(None, [self.option]), *chosen])

    @property
    def label(self) -> str:
        """The name for tables, with unusual choices in brackets."""
        return self.name + (f" ({self.choices})" if self.choices else "")


@dataclass(frozen=True)
class RunConfig:
    """What a run was planned with; runs that agree in all of it belong together."""

    task: Task
    key: MethodKey
    plan_blocks: int
    """h, action blocks."""
    waypoint_budget: int | None
    """H, frames; None for methods without a graph."""
    macro_steps: int | None
    """h_h; None for methods without macro actions."""
    graph: str | None
    """Digest of the graph's latents; None: no graph."""
    macro: str | None
    """Digest of the macro model; None: no such model."""

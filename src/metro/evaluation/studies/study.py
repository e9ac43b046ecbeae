"""What every study has: a question, rows, the command that writes them, a section."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from metro.evaluation.document import Block

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Section:
    """A study's part of the report."""

    blocks: tuple[Block, ...]
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    """The bytes of every picture among the blocks, by name."""


@dataclass(frozen=True)
class Study:
    """One analysis of the paper.

    Its rows are in ``studies/NAME.jsonl`` beside the evaluation's, or are the
    evaluation's own.
    """

    name: str
    title: str
    question: str
    """What it answers, in a sentence; the report shows it also if nothing was run."""
    command: str
    """What a user types to run it."""
    render: Callable[[Sequence[Row]], Section]
    """From rows (one at least, in any order) to a section; same rows, same bytes."""
    reads_evaluation: bool = False
    """Whether its rows are those of ``metro evaluate``, of all benchmarks."""

"""The sections of a report about one task each: its tables, plots and commands."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from metro.analysis.config_results import ConfigResult, best_covered
from metro.analysis.formatting import NOT_RUN
from metro.analysis.paper import PaperResult
from metro.analysis.reproduce import command_of_config
from metro.analysis.task import Task
from metro.errors import short
from metro.planners.methods.registry import method_names
from metro.report.document import Block, Command, Fold, Heading, Picture, Text
from metro.report.overview import Tasks
from metro.report.tables import (
    arrivals,
    by_tag,
    fronts,
    paired,
    source_of,
    success_table,
    times,
)

Plots = Mapping[Task, Sequence[Picture]]

_PAIRING = (
    "Only queries and seeds that both methods have. The interval is a bootstrap over "
    "queries. p is McNemar's exact test, which takes seeds of one query as "
    "independent: trust the interval first."
)
_UNPAIRED = "Not run: metro and another method on the same queries and seeds."


def task_sections(
    tasks: Tasks, paper: Sequence[PaperResult], plots: Plots
) -> list[Block]:
    """Return a folded section per task, below a heading per benchmark."""
    page: list[Block] = []
    titles = titles_of(tasks)
    for benchmark in dict.fromkeys(task.benchmark for task in tasks):
        page.append(Heading(benchmark))
        for task, configs in tasks.items():
            if task.benchmark == benchmark:
                blocks = _section(configs, paper, plots.get(task, []))
                # Folded, for there are dozens of tasks and a reader wants one.
                page.append(Fold(Heading(titles[task], 3), tuple(blocks)))
    return page


def _section(
    configs: Sequence[ConfigResult],
    paper: Sequence[PaperResult],
    plots: Sequence[Picture],
) -> list[Block]:
    pairs, tagged = paired(configs), by_tag(configs)
    page: list[Block] = [Text(_description(configs)), success_table(configs, paper)]
    for plot in plots:
        page += [plot, Text(f"{plot.description}. {source_of(configs)}")]
    page += [Heading("Paired differences", 4)]
    page += [Text(_UNPAIRED)] if pairs is None else [pairs, Text(_PAIRING)]
    page += [Heading("Arrival and sub-goals", 4), arrivals(configs, paper)]
    page += [Heading("Time", 4), times(configs)]
    page += [Heading("Pareto fronts: success and seconds", 4), fronts(configs)]
    if tagged is not None:
        page += [Heading("By kind of query", 4), tagged]
    page += [Heading("Notes", 4)] if _notes(configs) else []
    page += [Text(f"Note: {note}.") for note in _notes(configs)]
    # Settings that differ only in their graph have the same command.
    commands = dict.fromkeys(map(command_of_config, configs))
    return [*page, Heading("Commands", 4), Command("\n".join(commands))]


def titles_of(tasks: Iterable[Task]) -> dict[Task, str]:
    """Return the titles of tasks; where two would be the same, with their corpus."""
    known = list(tasks)
    counts = Counter(task.title for task in known)
    return {
        task: task.title + (f", {task.recordings}" if counts[task.title] > 1 else "")
        for task in known
    }


def _description(configs: Sequence[ConfigResult]) -> str:
    task, run = configs[0].task, {config.key.name for config in configs}
    left = [name for name in method_names() if name not in run]
    model, corpus, _ = map(short, task.digests)
    return (
        f"Model {task.model} ({model}); recordings {task.recordings} ({corpus}); "
        f"rendering {task.rendering}; queries {task.queries}. "
        f"{NOT_RUN.capitalize()}: {', '.join(left) or 'nothing'}."
    )


def _notes(configs: Sequence[ConfigResult]) -> list[str]:
    notes = [f"{config.name}: {note}" for config in configs for note in config.notes]
    for method in sorted({config.method for config in configs}):
        some = [config for config in configs if config.method == method]
        # What `best_config` leaves out must be visible: it may have more success.
        full = best_covered(some)
        left = [config.name for config in some if config not in full]
        if left:
            notes.append(
                f"not chosen from, for they have less than {full[0].num_queries} "
                f"queries: {'; '.join(left)}"
            )
    graphs = sorted({short(config.graph) for config in configs if config.graph})
    if len(graphs) > 1:
        notes.append(f"graphs of different latents: {', '.join(graphs)}")
    return notes

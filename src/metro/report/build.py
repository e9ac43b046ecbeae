"""From rows to pages: report.md, report.html and the plots."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from metro.analysis.comparison import METRO, by_task
from metro.analysis.config_results import ConfigResult, best_covered
from metro.analysis.formatting import NOT_RUN
from metro.analysis.grouping import group_rows
from metro.analysis.reproduce import command_of_config
from metro.analysis.task import Task
from metro.errors import BenchmarkError, short, storage_errors
from metro.planners.methods.registry import method_names
from metro.report import tables
from metro.report.document import (
    Block,
    Command,
    Fold,
    Heading,
    Picture,
    Prose,
    Text,
    to_markdown,
)
from metro.report.html import sections, to_html
from metro.report.inputs import ReportInputs, ReportPicture
from metro.report.overview import Tasks, ablations, missing, overview
from metro.report.plots import draw_curves, draw_fronts, draw_opening, pyplot
from metro.report.study import Section, Study, study_part

Plots = Mapping[Task, Sequence[Picture]]

_MOST_NAMES = 4
"""With more names a title would be unreadable: they are counted."""
_OPENING, _OPENING_FILE = "Success against seconds of planning", "opening.png"
_OPENING_CAPTION = (
    "Pareto fronts over (h, H, T): each point is a setting with more success than any "
    "faster one of the same method. Up and left is better. One model family, the first "
    "by name."
)
_NO_PICTURES = (
    "Not made: metro route GRAPH --from A --to B --storyboard route.png --corpus "
    "recording.h5 draws one."
)
_READING = """\
- Success: the goal was met within T environment steps. 95 % intervals are Wilson's.
- mean ± std is over planner seeds, as in the paper. Seeds share queries.
- Non-trivial starts leave out queries whose start already meets the goal.
- Of several h or H the best is shown, chosen on the same queries, as in the paper.
- best T is the smallest T with metro's success at the longest T.
- The paper's numbers are of its models and recordings, ours of those named here."""
_PAIRING = (
    "Only queries and seeds that both methods have. The interval is a bootstrap over "
    "queries. p is McNemar's exact test, which takes seeds of one query as "
    "independent: trust the interval first."
)
_UNPAIRED = "Not run: metro and another method on the same queries and seeds."
_PLOTS = {
    "success": "success within T, with 95 % bands",
    "seconds": "success against seconds of planning",
}


def results_markdown(inputs: ReportInputs, studies: Sequence[Study] = ()) -> str:
    """Return all tables as Markdown, the same text for the same rows in any order.

    Plots are left out: they are files that only `write_report` makes.
    """
    tasks = by_task(group_rows(inputs.rows))
    return to_markdown(_page(inputs, tasks, {}, study_part(inputs, studies)))


def write_report(
    inputs: ReportInputs, folder: Path, studies: Sequence[Study] = ()
) -> list[Path]:
    """Write report.md, report.html and the pictures; return the files.

    A report that is there already is replaced.
    """
    if folder.exists() and not folder.is_dir():
        raise BenchmarkError(f"{folder} is a file. Give a folder for the report.")
    pyplot()  # a missing extra is said before anything is made
    failure = f"The report was not written to {folder}"
    # Drawing takes a minute: a folder that cannot be written is said before it.
    with storage_errors(failure):
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    tasks = by_task(group_rows(inputs.rows))
    plots, drawn = _draw(tasks)
    section = study_part(inputs, studies)
    drawn |= {shown.name: shown.content for shown in inputs.pictures}
    drawn |= section.pictures
    page = _page(inputs, tasks, plots, section)
    texts = {
        "report.md": to_markdown(page).encode(),
        "report.html": to_html(page, drawn).encode(),
    }
    # Nothing is written before everything is made: a report is never half new.
    with storage_errors(failure):
        for name, content in (texts | drawn).items():
            (folder / name).write_bytes(content)
    return [folder / name for name in (*texts, *drawn)]


def _draw(tasks: Tasks) -> tuple[Plots, dict[str, bytes]]:
    """Return the plots of every task, and the bytes of all plots by name."""
    drawn = {_OPENING_FILE: draw_opening(tasks)}
    plots: dict[Task, list[Picture]] = {}
    titles = titles_of(tasks)
    for number, (task, configs) in enumerate(tasks.items(), start=1):
        place = f"{task.benchmark}-{task.family}-d{task.goal_distance}"
        for draw, what in ((draw_curves, "success"), (draw_fronts, "seconds")):
            # Numbered: tasks that differ only in their corpus would share a file.
            name = f"{number:02d}-{place}-{what}.png"
            drawn[name] = draw(configs)
            picture = Picture(name, f"{titles[task]}: {_PLOTS[what]}")
            plots.setdefault(task, []).append(picture)
    return plots, drawn


def _page(
    inputs: ReportInputs, tasks: Tasks, plots: Plots, studies: Section
) -> list[Block]:
    """Return the page: the opening figure, findings, then one table per question."""
    page: list[Block] = [
        Heading(title_of(inputs, tasks), 1),
        Text(_lead(inputs, tasks)),
    ]
    if plots:
        picture = Picture(_OPENING_FILE, _OPENING, is_wide=True)
        page += [Heading(_OPENING), picture, Text(_OPENING_CAPTION)]
    for heading, body in sections(inputs.preface):
        page += [Heading(heading)] if heading else []
        page += [Prose(body)] if body else []
    page += [Heading("Overview"), Text("Does metro reach farther goals than others?")]
    page += [overview(tasks), Prose(_READING)]
    page += [Heading("Ablations"), Text("What does each part of metro contribute?")]
    page += [*ablations(tasks), *studies.blocks]
    page += _task_sections(tasks, plots)
    page += _pictures(inputs.pictures)
    return [*page, Heading("What is missing"), missing(tasks)]


def title_of(inputs: ReportInputs, tasks: Iterable[Task]) -> str:
    """Return the preface's title, or one that names benchmarks, models and files."""
    for line in inputs.preface.splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    known = list(tasks)
    names = [
        _listed(dict.fromkeys(task.benchmark for task in known), "benchmarks"),
        _listed(dict.fromkeys(task.model for task in known), "models"),
    ]
    source = f" ({_listed(inputs.files, 'files')})" if inputs.files else ""
    return f"Results: {', '.join(names)}{source}"


def _listed(names: Iterable[str], what: str) -> str:
    known = list(names)
    return ", ".join(known) if len(known) <= _MOST_NAMES else f"{len(known)} {what}"


def _lead(inputs: ReportInputs, tasks: Tasks) -> str:
    shares = [
        config.macro_overhead
        for configs in tasks.values()
        for config in configs
        if config.key.name == METRO and config.macro_overhead is not None
    ]
    spent = ""
    if shares:
        # Ends that print alike are one number, not a range.
        ends = dict.fromkeys(f"{100 * end:.1f}" for end in (min(shares), max(shares)))
        spent = f" Metro's own part of the planning time: {' to '.join(ends)} %."
    return (
        f"{len(inputs.rows):,} rows, one per query, method and planner seed, on "
        f"{len(tasks)} tasks (benchmark, model, recordings, distance).{spent}"
    )


def _pictures(pictures: Sequence[ReportPicture]) -> list[Block]:
    page: list[Block] = [Heading("Routes and sub-goals in pixels")]
    if not pictures:
        return [*page, Text(_NO_PICTURES)]
    for shown in pictures:
        page += [
            Picture(shown.name, shown.caption, is_photo=True),
            Text(shown.caption),
            Command(shown.command),
        ]
    return page


def _task_sections(tasks: Tasks, plots: Plots) -> list[Block]:
    """Return a folded section per task, below a heading per benchmark."""
    page: list[Block] = []
    titles = titles_of(tasks)
    for benchmark in dict.fromkeys(task.benchmark for task in tasks):
        page.append(Heading(benchmark))
        for task, configs in tasks.items():
            if task.benchmark == benchmark:
                blocks = _section(configs, plots.get(task, []))
                # Folded, for there are dozens of tasks and a reader wants one.
                page.append(Fold(Heading(titles[task], 3), tuple(blocks)))
    return page


def _section(configs: Sequence[ConfigResult], plots: Sequence[Picture]) -> list[Block]:
    pairs, tagged = tables.paired(configs), tables.by_tag(configs)
    success = tables.success_table(configs)
    page: list[Block] = [Text(_description(configs)), success]
    for plot in plots:
        page += [plot, Text(f"{plot.description}. {tables.source_of(configs)}")]
    page += [Heading("Paired differences", 4)]
    page += [Text(_UNPAIRED)] if pairs is None else [pairs, Text(_PAIRING)]
    page += [Heading("Arrival and sub-goals", 4), tables.arrivals(configs)]
    page += [Heading("Time", 4), tables.times(configs)]
    page += [Heading("Pareto fronts: success and seconds", 4)]
    page += [tables.fronts(configs)]
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

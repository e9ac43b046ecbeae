"""From rows to pages: report.md, report.html and the plots."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from metro.analysis.commands import command_of_cell
from metro.analysis.comparison import (
    ORDER,
    by_task,
)
from metro.analysis.config_results import ConfigResult, best_covered
from metro.analysis.episode_results import Task
from metro.analysis.formatting import NOT_RUN
from metro.analysis.grouping import make_cells
from metro.analysis.paper import PaperResult, load_paper_cells
from metro.errors import BenchmarkError, short
from metro.report.ablations import ablations
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
from metro.report.headline_metrics import key_figures
from metro.report.html import to_html
from metro.report.inputs import ReportInputs, ReportPicture
from metro.report.markdown_html import sections
from metro.report.missing import missing
from metro.report.overview import overview
from metro.report.study import Section, Study
from metro.report.study_sections import study_part
from metro.report.tables import (
    arrivals,
    by_tag,
    fronts,
    headline,
    paired,
    source_of,
    times,
)

_TITLE = "Results of metro-wm"
_LEAD = (
    "An open implementation of Metro-WM: far goals by way of recorded frames, with "
    "frozen world models. Every table and plot is computed from rows, one a query, "
    "method and planner seed, with its interval, n and commit; the paper's figures "
    "stand beside ours."
)
_NO_PICTURES = (
    "Not made: metro route GRAPH --from A --to B --storyboard route.png --corpus "
    "recording.h5 draws one."
)
_READING = (
    "Success in percent: the goal was met within T environment steps; it latches. "
    "The 95 % intervals are Wilson's and take runs as independent, though planner "
    "seeds share queries. mean ± std is over planner seeds, as in the "
    "paper. Open starts leaves out queries whose start already meets the goal. Where "
    "h or H has several values the best is told, chosen on the same queries, as in "
    "the paper; that flatters whoever has more values. Cells with fewer queries than "
    "others of their method are not chosen from; seeds count in the choice if all "
    "cells have them. best T is the smallest T with metro's success at the longest T. "
    "The paper's figures are of its models and recordings, ours of those named here."
)
_PAIRING = (
    "Paired: only queries and seeds that both have. The interval of a difference is a "
    "bootstrap that draws queries with all their seeds; p is McNemar's exact test over "
    "runs, as if seeds of one query were independent: trust the interval before it."
)
_UNPAIRED = "Not run: metro and another method on the same queries and seeds."


def results_markdown(
    material: ReportInputs, pictures: str = "", studies: Sequence[Study] = ()
) -> str:
    """Return all tables as Markdown, the same text for the same rows in any order.

    Args:
        material: The preface is left out: it is Markdown already.
        pictures: Where storyboards and films are, seen from the page. Plots are left
            out, for they are not files yet.
        studies: Those that the page has a section for.
    """
    cells = make_cells(material.rows)
    page = [
        *_tables(cells, {}),
        *_closing(cells, material, study_part(material, studies)),
    ]
    return to_markdown(block for part in page for block in _linked(part, pictures))


def _linked(block: Block, folder: str) -> list[Block]:
    """Return a block with its picture in ``folder``; none if it is a plot."""
    if not isinstance(block, Picture):
        return [block]
    return [replace(block, name=folder + block.name)] if block.is_photo else []


def write_report(
    material: ReportInputs, folder: Path, studies: Sequence[Study] = ()
) -> list[Path]:
    """Write report.md, report.html and the pictures; return the files.

    A report that is there already is replaced.
    """
    if folder.exists() and not folder.is_dir():
        raise BenchmarkError(f"{folder} is a file. Give a folder for the report.")
    from metro.report.plots import draw_curves, draw_fronts

    cells = make_cells(material.rows)
    plots: dict[Task, list[Picture]] = {}
    titles = titles_of(by_task(cells))
    drawn = {shown.name: shown.content for shown in material.pictures}
    for number, (task, some) in enumerate(by_task(cells).items(), start=1):
        for draw, what in ((draw_curves, "success"), (draw_fronts, "seconds")):
            place = f"{task.benchmark}-{task.family}-d{task.goal_distance}"
            name = f"{number:02d}-{place}-{what}.png"
            drawn[name] = draw(some)
            described = f"{titles[task]}: {_DESCRIPTIONS[what]}"
            plots.setdefault(task, []).append(Picture(name, described))
    analyses = study_part(material, studies)
    drawn |= analyses.pictures
    page = [
        *_opening(cells, material),
        *_tables(cells, plots),
        *_closing(cells, material, analyses),
    ]
    texts = {
        "report.md": to_markdown(page).encode(),
        "report.html": to_html(page, drawn).encode(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (texts | drawn).items():
        (folder / name).write_bytes(content)
    return [folder / name for name in (*texts, *drawn)]


_DESCRIPTIONS = {
    "success": "success within T, with 95 % bands",
    "seconds": "success against seconds of planning",
}


def _opening(cells: Sequence[ConfigResult], material: ReportInputs) -> list[Block]:
    """Return the title, the numbers to remember, and what was written by hand."""
    figures = key_figures(by_task(cells), len(material.rows))
    page: list[Block] = [Heading(_TITLE, 1), Text(_LEAD), figures]
    for title, body in sections(material.preface):
        page += [Heading(title)] if title else []
        page += [Prose(body)] if body else []
    return page


def _tables(
    cells: Sequence[ConfigResult], plots: Mapping[Task, list[Picture]]
) -> list[Block]:
    paper = load_paper_cells()
    tasks = by_task(cells)
    titles = titles_of(tasks)
    page: list[Block] = [Heading("Overview"), Text(_READING), overview(tasks, paper)]
    for benchmark in dict.fromkeys(task.benchmark for task in tasks):
        page.append(Heading(benchmark))
        for task, some in tasks.items():
            if task.benchmark == benchmark:
                blocks = _section(some, paper, plots.get(task, []))
                page.append(Fold(Heading(titles[task], 3), tuple(blocks)))
    return [*page, Heading("Ablations"), *ablations(tasks)]


def _closing(
    cells: Sequence[ConfigResult], material: ReportInputs, studies: Section
) -> list[Block]:
    page: list[Block] = [*studies.blocks, *_shown(material.pictures)]
    page += [Heading("What differs from the paper"), Prose(_differences())]
    return [*page, Heading("What is missing"), missing(by_task(cells))]


def _differences() -> str:
    """Return what is not as in the paper, in Markdown; written in one place."""
    file = files("metro.evaluation").joinpath("differences.md")
    return file.read_text().rstrip("\n")


def _shown(pictures: Sequence[ReportPicture]) -> list[Block]:
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


def _section(
    cells: Sequence[ConfigResult],
    paper: Sequence[PaperResult],
    plots: Sequence[Picture],
) -> list[Block]:
    pairs, tagged = paired(cells), by_tag(cells)
    page: list[Block] = [Text(_told(cells))]
    page += [Text(f"Note: {note}.") for note in _notes(cells)]
    page += [headline(cells, paper)]
    for plot in plots:
        page += [plot, Text(f"{plot.description}. {source_of(cells)}")]
    page += [Heading("Paired differences", 4)]
    page += [Text(_UNPAIRED)] if pairs is None else [Text(_PAIRING), pairs]
    page += [Heading("Arrival and sub-goals", 4), arrivals(cells, paper)]
    page += [Heading("Time", 4), times(cells)]
    page += [Heading("Fronts: success and seconds of planning", 4), fronts(cells)]
    if tagged is not None:
        page += [Heading("By kind of query", 4), tagged]
    commands = dict.fromkeys(command_of_cell(cell) for cell in cells)
    return [*page, Heading("Commands", 4), Command("\n".join(commands))]


def titles_of(tasks: Iterable[Task]) -> dict[Task, str]:
    """Return the titles of tasks; where two would be the same, with their corpus."""
    known = list(tasks)
    times = Counter(task.title for task in known)
    return {
        task: task.title + (f", {task.recordings}" if times[task.title] > 1 else "")
        for task in known
    }


def _told(cells: Sequence[ConfigResult]) -> str:
    task, run = cells[0].task, {cell.method for cell in cells}
    left = [name for name in ORDER if name not in run and "(" not in name]
    model, corpus, _ = map(short, task.digests)
    return (
        f"Model {task.model} ({model}); recordings {task.recordings} ({corpus}); "
        f"rendering {task.rendering}; queries {task.queries}. "
        f"{NOT_RUN.capitalize()}: {', '.join(left) or 'nothing'}."
    )


def _notes(cells: Sequence[ConfigResult]) -> list[str]:
    notes = [f"{cell.name}: {note}" for cell in cells for note in cell.notes]
    for method in sorted({cell.method for cell in cells}):
        some = [cell for cell in cells if cell.method == method]
        full = best_covered(some)
        left = [cell.name for cell in some if cell not in full]
        if left:
            notes.append(
                f"not chosen from, for they have less than {full[0].num_queries} "
                f"queries: {'; '.join(left)}"
            )
    graphs = sorted({short(cell.graph) for cell in cells if cell.graph})
    if len(graphs) > 1:
        notes.append(f"graphs of different latents: {', '.join(graphs)}")
    return notes

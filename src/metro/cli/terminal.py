"""What a person sees in a terminal: progress bars, tables, itineraries."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Timer
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from metro.cli.doctor import Finding
from metro.core.inspect import Inspection
from metro.core.itinerary import Segment, SegmentKind
from metro.core.latents import Latents
from metro.errors import short

_PATIENCE = 1.0
"""Seconds without output before a title is shown."""


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[..., None]]:
    """Yield a function that draws (done, total) as a bar with an ETA, on stderr.

    Called with (done, total, solved) it shows the running rate too. Nothing is drawn
    where stderr is not a terminal.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # Transient: what stays in the terminal is the result.
    hidden = not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        # The total is known with the first report only.
        task = bar.add_task(title, total=None, rate="")

        def report(done: int, total: int, solved: int | None = None) -> None:
            rate = ""
            if done and solved is not None:
                rate = f"{solved} of {done} solved, {solved / done:.0%}"
            bar.update(task, completed=done, total=total, rate=rate)

        yield report


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = ""
) -> None:
    """Print rows of text under a header."""
    table = Table(*header, show_edge=False, pad_edge=False, caption=caption or None)
    for column in table.columns:
        column.overflow = "fold"  # a name that is cut is no name
    for row in rows:
        # Brackets in names would be read as markup.
        table.add_row(*map(escape, row))
    Console().print(table)


@contextmanager
def scoreboard(names: Sequence[str]) -> Iterator[Callable[[str, Sequence[str]], None]]:
    """Yield a function that fills the line of one planner in a table that stays.

    The line has how many queries were planned, success, its 95 % interval, and seconds.
    """
    lines: dict[str, Sequence[str]] = {name: [""] * 4 for name in names}

    def draw() -> Table:
        header = ("planner", "queries", "success", "95 % interval", "s per query")
        table = Table(*header, show_edge=False, pad_edge=False)
        for name, line in lines.items():
            table.add_row(name, *line)
        return table

    with Live(draw(), console=Console(), auto_refresh=False) as live:

        def show(name: str, line: Sequence[str]) -> None:
            lines[name] = line
            # In a file only the last state of the table is of use.
            live.update(draw(), refresh=live.console.is_terminal)

        yield show


@contextmanager
def spinner(title: str) -> Iterator[None]:
    """Show ``title`` and the time on stderr, if the block takes over a second.

    Nothing is drawn where stderr is not a terminal.
    """
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    bar = Progress(*columns, console=console, transient=True)
    bar.add_task(title, total=None)
    # Not at once: a title that flashes by only disturbs.
    timer = Timer(_PATIENCE, bar.start)
    if console.is_interactive:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()
        if console.is_interactive:
            timer.join()  # or it might start what is stopped here
            bar.stop()


def print_inspection(figures: Inspection, name: str) -> None:
    """Print the figures of a graph as a table."""
    print_table(("", name), _inspection_rows(figures))


def print_findings(findings: Sequence[Finding]) -> None:
    """Print what was examined, what was seen, and what to do about it."""
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for finding in findings:
        mark = "[green]ok[/]" if finding.ok else "[red]no[/]"
        cure = "" if finding.ok else f"\n[bold]{escape(finding.cure)}[/]"
        table.add_row(mark, finding.name, escape(finding.detail) + cure)
    Console().print(table)


def print_journey(
    latents: Latents,
    start: int,
    goal: int,
    segments: list[Segment],
    *,
    held_out: int | None = None,
) -> None:
    """Print the segments of a route, one per line."""
    console = Console()
    console.print(f"From {_place(latents, start)} to {_place(latents, goal)}")
    if not segments:
        console.print(_no_route(latents, goal, held_out))
        return
    table = Table(
        "segment", "", "gap", "frames", "total", show_edge=False, pad_edge=False
    )
    for column in table.columns[2:]:
        column.justify = "right"
    for one in segments:
        gap = "" if one.kind is SegmentKind.TEMPORAL else f"{one.gap:.3f}"
        where = (one.kind.name.lower(), _sentence(latents, one))
        table.add_row(*where, gap, f"{one.cost:.2f}", f"{one.total:.2f}")
    console.print(table)


def _inspection_rows(figures: Inspection) -> list[tuple[str, str]]:
    curve = figures.pricing_gaps
    shown = sorted({1, len(curve), *range(5, len(curve), 5)})
    total = sum(figures.memory.values())
    parts = ", ".join(f"{n} {size / 1e6:,.1f}" for n, size in figures.memory.items())
    rows = [
        ("frames", f"{figures.num_frames:,} of {figures.dim} dimensions"),
        (
            "episodes",
            f"{figures.num_episodes:,}, "
            f"{figures.shortest_episode} to {figures.longest_episode} frames long",
        ),
        ("waypoint budget H", f"{figures.waypoint_budget} frames"),
        ("radius", f"{figures.radius:.4g} = Λ({figures.waypoint_budget})"),
        (
            "bridges",
            f"{figures.num_bridges:,} (k = {figures.num_neighbours}), "
            f"{figures.bridges_per_frame:.2f} a frame, "
            f"{figures.frames_without_bridge:.1%} of frames have none",
        ),
        (
            "components",
            f"{figures.num_components:,}, the largest {figures.largest_component:.1%}",
        ),
        (
            "strong components",
            f"{figures.num_strong_components:,}, "
            f"the largest {figures.largest_strong_component:.1%}",
        ),
        (
            "joined frame pairs",
            f"{figures.joined_pairs:.1%} (from {figures.joined_pairs_sources} frames)",
        ),
        ("Λ(d), latent gap", _curve({d: curve[d - 1] for d in shown})),
        ("saturation at d", _saturation(figures)),
        ("memory", f"{total / 1e6:,.1f} MB: {parts}"),
    ]
    made_of = ", ".join(_source(*named) for named in sorted(figures.provenance.items()))
    return [*rows, ("provenance", made_of or "not recorded")]


def _source(key: str, value: Any) -> str:
    """Return one line of provenance; of a digest its first twelve characters."""
    if isinstance(value, dict) and {"name", "digest"} <= set(value):
        return f"{key} {value['name']} ({short(value['digest'])})"
    return f"{key}: {value}"


def _curve(points: dict[int, float]) -> str:
    return "  ".join(f"{place}: {value:.3g}" for place, value in points.items())


def _saturation(figures: Inspection) -> str:
    if figures.num_episodes == 1:
        return "one episode: nothing to compare with"
    shown = _curve({point.distance: point.median for point in figures.saturation})
    return shown or "none: frames of different episodes have a gap of 0 (collapsed?)"


def _no_route(latents: Latents, goal: int, held_out: int | None) -> str:
    if held_out is not None and int(latents.episode_of(goal)) == held_out:
        return (
            f"No route: episode {held_out}, which the goal is from, is held out, and "
            f"no route of other episodes leads there."
        )
    return (
        "No route: no recorded frames lead there. A larger waypoint budget or "
        "more episodes add bridges."
    )


def _place(latents: Latents, frame: int) -> str:
    episode, step = latents.episode_of(frame), latents.step_of(frame)
    return f"frame {frame} (episode {episode}, step {step})"


def _sentence(latents: Latents, segment: Segment) -> str:
    # Only arriving has no stop.
    if segment.stop is None:
        return "the goal"
    if segment.kind is SegmentKind.TEMPORAL and segment.start is not None:
        first, last = latents.step_of(segment.start), latents.step_of(segment.stop)
        steps = f"steps {first} to {last}: {segment.steps} frames"
        return f"episode {segment.episode}, {steps}"
    return f"to {_place(latents, segment.stop)}"

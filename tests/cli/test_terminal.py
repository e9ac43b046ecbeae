"""What is printed: exact lines, and nothing where nobody looks."""

import pytest

from metro.cli import terminal
from metro.cli.doctor import Finding
from metro.core.itinerary import Segment, SegmentKind

ROUTE = [
    Segment(SegmentKind.TEMPORAL, 0, 3, 8, 5, 0.0, 5.0, 5.0),
    Segment(SegmentKind.BRIDGE, 1, 8, 61, 0, 0.25, 1.5, 6.5),
    Segment(SegmentKind.ARRIVE, None, 61, None, 0, 0.125, 1.0, 7.5),
]


@pytest.fixture
def printed(capsys, monkeypatch):
    """Return a function that calls another and returns the lines it printed."""
    monkeypatch.setenv("COLUMNS", "200")

    def lines(function, *arguments, **options):
        function(*arguments, **options)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return lines


def cells(line):
    """Return the cells of a line of a table."""
    return [cell.strip() for cell in line.split("│")]


def test_brackets_in_names_are_no_markup(printed):
    """A name in brackets is printed as it is."""
    found = printed(terminal.print_table, ("name", "n"), [("a[bold]b", "1")])
    assert cells(found[-1]) == ["a[bold]b", "1"]


def test_long_names_are_folded_not_cut(printed, monkeypatch):
    """In a narrow terminal all letters of a name are still there."""
    monkeypatch.setenv("COLUMNS", "12")
    found = printed(terminal.print_table, ("name",), [("abcdefghijklmnopqrstuvwxyz",)])
    assert "".join(found[2:]) == "abcdefghijklmnopqrstuvwxyz"


def test_a_route_is_told_segment_by_segment(printed, rooms):
    """Every segment has a line: its kind, where it leads, gap, price, total."""
    found = printed(terminal.print_journey, rooms, 3, 130, ROUTE)
    assert found[0] == (
        "From frame 3 (episode 0, step 3) to frame 130 (episode 2, step 10)"
    )
    assert [cells(line) for line in found[3:]] == [
        ["temporal", "episode 0, steps 3 to 8: 5 frames", "", "5.00", "5.00"],
        ["bridge", "to frame 61 (episode 1, step 1)", "0.250", "1.50", "6.50"],
        ["arrive", "the goal", "0.125", "1.00", "7.50"],
    ]


@pytest.mark.parametrize("held_out", [None, 1])
def test_no_route_says_what_helps(printed, rooms, held_out):
    """Without a route the reader is told what would add bridges."""
    found = printed(terminal.print_journey, rooms, 3, 130, [], held_out=held_out)
    assert found[1] == (
        "No route: no recorded frames lead there. A larger waypoint budget or more "
        "episodes add bridges."
    )


def test_a_held_out_goal_is_the_reason(printed, rooms):
    """If the goal's own episode is held out, that is said instead."""
    found = printed(terminal.print_journey, rooms, 3, 130, [], held_out=2)
    assert found[1] == (
        "No route: episode 2, which the goal is from, is held out, and no route of "
        "other episodes leads there."
    )


def test_a_cure_is_printed_only_for_what_is_wrong(printed):
    """Findings that are well have no cure; the others have it on a line of its own."""
    good, bad = Finding("disk", True, "10 GB", "buy"), Finding("GPU", False, "-", "[x]")
    found = printed(terminal.print_findings, [good, bad])
    words = [line.split() for line in found]
    assert words == [["ok", "disk", "10", "GB"], ["no", "GPU", "-"], ["[x]"]]


def test_bars_are_silent_without_a_terminal(capsys):
    """In a pipe nothing is drawn, neither on stdout nor on stderr."""
    with terminal.progress_bar("Working") as report:
        report(1, 2)
    assert tuple(capsys.readouterr()) == ("", "")


def test_the_scoreboard_is_printed_once_in_a_pipe(printed):
    """In a file only the last state of the table is of use."""

    def play():
        with terminal.scoreboard(["metro", "flat"]) as show:
            show("metro", ["1", "0 %", "-", "2"])
            show("metro", ["2", "50 %", "-", "2"])

    found = [cells(line) for line in printed(play)]
    assert [line for line in found if line[0] == "metro"] == [
        ["metro", "2", "50 %", "-", "2"]
    ]

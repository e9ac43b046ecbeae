"""Write docs/results.md, and the results in the README, from the rows in results/."""

import re
from functools import cache
from pathlib import Path

from metro.analysis.comparison import by_task
from metro.analysis.formatting import NOT_RUN
from metro.analysis.grouping import make_cells
from metro.analysis.paper import load_paper_cells
from metro.report.build import results_markdown
from metro.report.document import Table, to_markdown
from metro.report.inputs import ReportInputs, gather
from metro.report.overview import overview
from metro.studies.registry import STUDIES

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
TARGET = ROOT / "docs" / "results.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- results: begin (tools/results.py) -->", "<!-- results: end -->"
SHOWN = (0, 2, 3, 4, 6, 7, 8, 10)
MODEL, RECORDINGS, DISTANCE, METRO = 1, 2, 3, 4
FAMILY, DISTANCES = "lewm", ("25", "50", "75")
LEFT_TO_PAGE = "pusht-18685"
"""Recordings that tell nothing that the smaller ones do not."""


@cache
def material() -> ReportInputs:
    """Return rows, studies, pictures and words in results/."""
    return gather([RESULTS])


def render_page() -> str:
    """Return the whole page: what we found in words, then all tables."""
    tables = results_markdown(material(), "../results/pictures/", STUDIES)
    return material().preface + "\n" + tables


def render_readme() -> str:
    """Return the README with its table of LeWM written anew."""
    tasks = by_task(make_cells(material().rows))
    whole = overview(tasks, load_paper_cells())
    rows = tuple(
        tuple(row[column] for column in SHOWN)
        for row in whole.rows
        if row[METRO] != NOT_RUN
        and row[DISTANCE] in DISTANCES
        and row[MODEL].startswith(FAMILY)
        and not row[RECORDINGS].startswith(LEFT_TO_PAGE)
    )
    header = tuple(whole.header[column] for column in SHOWN)
    table = to_markdown([Table(header, rows, whole.caption)])
    pattern = f"(?<={re.escape(BEGIN)}\n).*?(?={re.escape(END)})"
    return re.sub(pattern, lambda _: table, README.read_text(), flags=re.S)


if __name__ == "__main__":
    TARGET.write_text(render_page())
    README.write_text(render_readme())
    print(f"wrote {TARGET.relative_to(ROOT)} and the table in {README.name}")

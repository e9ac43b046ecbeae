"""Write the tables of the results pages and of the README from the rows in results/.

Words are written by hand; every table between two markers is computed. A test fails
when a page is out of date: run `make docs`.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import details_tables as details
import result_tables as tables
import study_tables as studies

from metro.report.document import Table, to_markdown

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGE, DETAILS = ROOT / "docs" / "results.md", ROOT / "docs" / "results-details.md"

Tables = Mapping[str, Callable[[], Table]]
PAGE_TABLES: Tables = {
    "success": lambda: tables.success(tables.MAIN),
    "recordings": lambda: tables.success(tables.OTHERS),
    "beyond": tables.beyond,
    "hierarchical": tables.hierarchical,
    "residual": studies.residuals,
    "offline-cost": studies.offline_cost,
}
DETAILS_TABLES: Tables = {
    "pldm": lambda: tables.success((*tables.MAIN, *tables.OTHERS), family="pldm"),
    "plan-blocks": tables.by_plan_blocks,
    "overhead": tables.overhead,
    "replays": studies.replays,
    "when-solved": details.when_solved,
    "routes": details.routes,
    "nudges": details.nudges,
    "starts": details.starts,
    "tuning": details.tuning,
    "tried": details.tried,
    "parts": tables.parts,
    "options": details.options,
    "micro-planner": studies.micro_planner,
    "corpus-size": studies.corpus_size,
}


def readme_table() -> str:
    """Return the README's results as Markdown: one row per world at d = 75."""
    return to_markdown([tables.readme()])


def render(page: Path, blocks: Tables) -> str:
    """Return a page with every table between its markers computed again.

    Raises:
        ValueError: If the markers of the page and the known tables differ.
    """
    text = page.read_text()
    marked = re.findall(r"<!-- ([\w-]+): begin -->", text)
    if sorted(marked) != sorted(blocks):
        raise ValueError(f"{page} marks {sorted(marked)}, we have {sorted(blocks)}.")
    for name, make in blocks.items():
        text = _replace(text, name, to_markdown([make()]))
    return text


def render_readme() -> str:
    """Return the README with its table computed again."""
    return _replace(README.read_text(), "results", readme_table())


def _replace(text: str, name: str, table: str) -> str:
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    pattern = f"(?<={re.escape(begin)}).*?(?={re.escape(end)})"
    return re.sub(pattern, lambda _: f"\n{table}", text, flags=re.S)


if __name__ == "__main__":
    PAGE.write_text(render(PAGE, PAGE_TABLES))
    DETAILS.write_text(render(DETAILS, DETAILS_TABLES))
    README.write_text(render_readme())
    print(f"wrote the tables of {PAGE.name}, {DETAILS.name} and {README.name}")

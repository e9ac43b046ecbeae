"""Write docs/results.md from the rows that `metro evaluate` left in docs/results."""

from pathlib import Path

from metro.evaluation.outcomes import load_rows
from metro.evaluation.report import results_markdown

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "results.md"
PREFACE = ROOT / "docs" / "results" / "preface.md"


def render_page() -> str:
    """Return the whole page: what we found in words, then all tables."""
    files = sorted(PREFACE.parent.glob("*.jsonl"))
    return PREFACE.read_text() + "\n" + results_markdown(load_rows(files))


if __name__ == "__main__":
    TARGET.write_text(render_page())
    print(f"wrote {TARGET.relative_to(ROOT)}")

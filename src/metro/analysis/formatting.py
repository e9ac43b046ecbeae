"""Numbers as words: shares in percent, and what stands where there is none."""

from metro.analysis.paper import PaperResult

NOT_RUN = "not run"
NOTHING = "-"


def percent(mean: float, std: float | None) -> str:
    """Return shares as the paper prints them: mean ± std in percent."""
    return f"{100 * mean:.2f}" + ("" if std is None else f" ± {100 * std:.2f}")


def paper_percent(cell: PaperResult) -> str:
    """Return the paper's figure."""
    if cell.mean is None:
        return NOTHING
    return f"{cell.mean:.2f}" + ("" if cell.std is None else f" ± {cell.std:.2f}")

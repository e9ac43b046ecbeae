"""Numbers as text: shares in percent, and what stands where there is none."""

from metro.analysis.paper import PaperResult

NOT_RUN = "not run"
NOTHING = "-"


def percent(mean: float, std: float | None) -> str:
    """Return shares as the paper prints them: mean ± std in percent."""
    return f"{100 * mean:.2f}" + ("" if std is None else f" ± {100 * std:.2f}")


def paper_percent(one: PaperResult) -> str:
    """Return the success that the paper reports, as it prints it."""
    if one.mean is None:
        return NOTHING
    # Percent already, unlike our shares.
    return f"{one.mean:.2f}" + ("" if one.std is None else f" ± {one.std:.2f}")

"""Numbers as text: shares in percent, and what stands where there is none."""

from metro.analysis.statistics import Interval

NOT_RUN = "not run"
NOTHING = "-"


def number(value: float | None, form: str = "") -> str:
    """Return a number in a format of Python's, such as ``.2f``; None is a dash."""
    return NOTHING if value is None else format(value, form)


def ends(interval: Interval, sign: str = "") -> str:
    """Return an interval of shares in percent; ``sign`` is + if it may be negative."""
    return " to ".join(f"{100 * end:{sign}.1f}" for end in interval)


def p_value_text(value: float) -> str:
    """Return a p value, never as 0."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def plus_minus(mean: float | None, std: float | None) -> str:
    """Return mean ± std as the paper prints them; None: there is none."""
    if mean is None:
        return NOTHING
    return f"{mean:.2f}" + ("" if std is None else f" ± {std:.2f}")


def percent(mean: float, std: float | None) -> str:
    """Return shares as the paper prints them: mean ± std in percent."""
    return plus_minus(100 * mean, None if std is None else 100 * std)

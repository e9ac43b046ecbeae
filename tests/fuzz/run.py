"""All campaigns on faults, one after the other: ``make fuzz``.

Every campaign returns counts. Those named in `FAULTS` must be zero; the others say how
much was tried. The seed is printed, so that a failure can be seen again.
"""

import argparse
import importlib
import sys
import time

SHARES = {
    "writers": 0.1,
    "parts": 0.1,
    "kills": 0.4,
    "graphs": 0.2,
    "mutations": 0.08,
    "models": 0.06,
    "verbs": 0.06,
}
"""The campaigns, and how much of the time each has."""

FAULTS = frozenset(
    "failed wrong lost doubled unreadable leftovers untidy system signals hangs slow "
    "out_of_bounds memory silent".split()
)
"""Last words of counts that must be zero."""


def run_campaign(name: str, seed: int, seconds: float) -> dict[str, int]:
    """Return the counts of one campaign that lasts about so many seconds."""
    return importlib.import_module(name).campaign(seed, seconds)


def find_faults(counts: dict[str, int]) -> dict[str, int]:
    """Return the counts that must be zero and are not; nothing tried is one too."""
    counts = counts or {"tries": 0}
    return {
        name: number
        for name, number in counts.items()
        if (number and name.split()[-1] in FAULTS)
        or (not number and name.split()[-1] == "tries")
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the campaigns; print a table; return how many of them found a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("campaigns", nargs="*", help="default: all")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**31)
    options = parser.parse_args(arguments)
    names = options.campaigns or list(SHARES)
    whole = sum(SHARES[name] for name in names)
    failed = 0
    print(f"seed {options.seed}, {options.minutes:g} minutes")
    for name in names:
        seconds = 60 * options.minutes * SHARES[name] / whole
        counts = run_campaign(name, options.seed, seconds)
        faults = find_faults(counts)
        failed += bool(faults)
        tried = ", ".join(f"{key} {number:,}" for key, number in counts.items())
        verdict = f"FAULTS {faults}" if faults else "no fault"
        print(f"{name:10} {verdict:10} | {tried}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Which metro this is: its version, and the commit of its source."""

import subprocess
from pathlib import Path

__version__ = "0.2.0"


def commit() -> str | None:
    """Return the commit of the source, with ``+`` if it was changed; None: no git."""
    here = Path(__file__).parent
    head = _git(here, "rev-parse", "HEAD")
    if head is None:
        return None
    return head + ("+" if _git(here, "status", "--porcelain", "-uno", "src") else "")


def _git(here: Path, *arguments: str) -> str | None:
    root = here.parents[1]
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()

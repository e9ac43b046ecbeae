"""Write docs/performance.md from the reports that `metro bench` left beside it."""

import json
from pathlib import Path

from perf import render

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "performance.md"
PREFACE = ROOT / "docs" / "performance" / "preface.md"


def render_page() -> str:
    """Return the whole page: the preface, then every report as a section."""
    parts = [PREFACE.read_text()]
    for file in sorted(PREFACE.parent.glob("*.json")):
        report = json.loads(file.read_text())
        parts.append(_section(file.stem, report))
    return "\n".join(parts)


def _section(name: str, report: dict) -> str:
    machine = report["machine"]
    packages = ("numpy", "numba", "scipy", "faiss-cpu", "pynndescent", "hnswlib")
    versions = ", ".join(
        f"{package} {report['versions'][package]}"
        for package in packages
        if package in report["versions"]
    )
    return (
        f"## {name}\n\n"
        f"`{report['command']}`\n\n"
        f"{machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, load {machine['load_average'][0]:.1f} at the "
        f"end; Python {machine['python']}, {versions}; commit "
        f"{(report['commit'] or 'unknown')[:12]}.\n\n{render(report['rows'])}"
        f"{_picture(name)}"
    )


def _picture(name: str) -> str:
    drawn = PREFACE.with_name(f"{name}.png").exists()
    return f"\n![{name}](performance/{name}.png)\n" if drawn else ""


if __name__ == "__main__":
    TARGET.write_text(render_page())
    print(f"wrote {TARGET.relative_to(ROOT)}")

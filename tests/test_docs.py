"""Generated pages are up to date, links resolve, names are sorted."""

import json
import re
import subprocess
import sys
from pathlib import Path

import cards
import cli_reference
import licences
import paper_map
import performance
import pytest
from extras import missing_modules

import metro
from metro import errors
from perf.report import command

ROOT = Path(__file__).parents[1]
REPORTS = sorted((ROOT / "docs" / "performance").glob("*.json"))


def test_paper_map_is_up_to_date():
    """Run `make docs` if this fails."""
    assert paper_map.TARGET.read_text() == paper_map.render()


def test_the_paper_is_claimed():
    """Every equation of the planner, the algorithm and the proposition have a home."""
    claimed = {tag for tag, _ in paper_map.tags()}
    assert {f"Eq. {number}" for number in (2, 4, 5, 6, 7, 8)} <= claimed
    assert {"Alg. 1", "Prop. 1"} <= claimed
    known = set(paper_map.PLACES)
    assert {tag for tag in claimed if not tag.startswith("D")} <= known


def test_every_decision_is_written_and_used():
    """Tags in the code and paragraphs in docs/decisions.md are the same set."""
    written = re.findall(r"^## (D\d+)$", (ROOT / "docs/decisions.md").read_text(), re.M)
    used = {tag for tag, _ in paper_map.tags() if tag.startswith("D")}
    assert set(written) == used
    assert written == [f"D{number}" for number in range(1, len(written) + 1)]


def test_decisions_name_tests_that_exist():
    """Every test that a decision refers to is there."""
    tests = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("*.py"))
    for name in re.findall(r"test_\w+(?=`)", (ROOT / "docs/decisions.md").read_text()):
        assert f"def {name}(" in tests or (ROOT / "tests" / f"{name}.py").exists(), name


def test_cli_reference_is_up_to_date():
    """Run `make docs` if this fails."""
    assert cli_reference.TARGET.read_text() == cli_reference.render()


@pytest.mark.skipif(bool(missing_modules()), reason="reads what extras bring")
def test_licences_are_up_to_date():
    """Run `make docs` if this fails."""
    assert licences.TARGET.read_text() == licences.render()


def test_nothing_in_the_base_install_is_copyleft():
    """Every package of it is installed, states a licence, and none of the GPL's."""
    packages = licences.base()
    assert {"numpy", "numba", "llvmlite", "scipy"} <= {one.name for one in packages}
    unknown = {licences.NONE, licences.ABSENT}
    assert [one for one in packages if one.licence in unknown] == []
    assert licences.copyleft(packages) == []


@pytest.mark.parametrize(
    ("field", "kind"),
    [
        ("License-Expression: MIT AND GPL-3.0-or-later", "GPL"),
        ("License-Expression: AGPL-3.0-only", "AGPL"),
        ("License: GPLv2+", "GPL"),
        ("License: GNU Lesser General Public License v3", "LGPL"),
        ("Classifier: License :: OSI Approved :: GNU Affero License", "AGPL"),
        ("License: see LICENSE\nClassifier: License :: Other :: GPL", "GPL"),
    ],
)
def test_copyleft_in_the_base_install_is_noticed(tmp_path, monkeypatch, field, kind):
    """A crafted package, found before the one that is installed, is named."""
    crafted = tmp_path / "mdurl-1.0.dist-info"
    crafted.mkdir()
    text = f"Metadata-Version: 2.4\nName: mdurl\nVersion: 1.0\n{field}\n"
    (crafted / "METADATA").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert licences.copyleft(licences.base()) == ["mdurl"]
    assert [one.kind for one in licences.base() if one.name == "mdurl"] == [kind]
    assert "mdurl of the base install states a copyleft" in licences.render()


def test_packages_of_bench_are_never_read():
    """The page is the same where they are installed; the GPL of one is told."""
    rows = {one.name: one for one in licences.extra("bench")}
    assert rows["hnswlib"].licence == licences.ABSENT
    assert licences.copyleft(rows.values()) == ["igraph"]


@pytest.mark.parametrize("card", cards.cards(), ids=lambda card: card.stem)
def test_cards_tell_the_rows(card):
    """Run `make docs` if this fails; every shipped model has rows."""
    assert cards.render(card) == card.read_text()
    assert "Flat CEM, d = 25" in card.read_text()


def test_performance_page_is_up_to_date():
    """Run `make docs` if this fails."""
    assert performance.TARGET.read_text() == performance.render_page()


@pytest.mark.parametrize("file", REPORTS, ids=lambda file: file.stem)
def test_reports_name_the_command_of_their_settings(file):
    """One that a reader can run: no path of the machine it was measured on."""
    report = json.loads(file.read_text())
    assert report["command"] == command(report["settings"], file.with_suffix(""))


def test_every_verb_is_in_the_readme():
    """A verb that is not mentioned does not exist for a reader."""
    readme = (ROOT / "README.md").read_text()
    for verb in re.findall(r"^## (metro \w+)$", cli_reference.render(), re.M):
        assert f"`{verb}" in readme, verb


def test_the_readme_is_short():
    """A researcher reads it in two minutes: at most 120 lines, and no commit hash."""
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 120
    assert re.findall(r"\b(?=\w*\d)[0-9a-f]{9}\b", readme) == []


def test_the_array_story_runs_by_itself(tmp_path):
    """The first block of the tutorial needs arrays only, and nothing before it."""
    page = (ROOT / "docs" / "tutorials" / "your-latents.md").read_text()
    block = re.findall(r"```python\n(.*?)```", page, re.S)[0]
    ran = subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert "SubGoalKind" in ran.stdout


def test_links_in_the_docs_resolve():
    """No page points to a file that is not there."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_public_names_are_sorted_and_exist():
    """`__all__` is what it says."""
    assert metro.__all__ == sorted(metro.__all__)
    assert all(hasattr(metro, name) for name in metro.__all__)


def test_every_error_is_ours():
    """All children of MetroError are in the tree that the module draws."""
    children = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.MetroError)
    ]
    assert all(name in (errors.__doc__ or "") for name in children)


def test_import_is_light():
    """A fresh process that imports metro has none of the heavy libraries."""
    heavy = "torch gymnasium stable_worldmodel hydra wandb matplotlib scipy numba rich"
    code = f"import sys, metro; print([m for m in {heavy.split()} if m in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "[]\n"

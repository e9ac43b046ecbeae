"""The site builds without a warning, works offline, and has no broken link."""

import os
import re
import subprocess
import sys

import pytest
from docs_makers import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The whole site as HTML; any warning of mkdocs is an error."""
    folder = tmp_path_factory.mktemp("site")
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return folder


def test_every_page_is_built(site):
    """Every Markdown page of docs/ has an HTML page; strict building found no fault."""
    pages = {p.relative_to(ROOT / "docs") for p in (ROOT / "docs").rglob("*.md")}
    pages = {page for page in pages if page.name != "preface.md"}
    assert {p for p in pages if not (site / p).with_suffix(".html").exists()} == set()


def test_nothing_is_loaded_from_the_net(site):
    """No font, script, style or picture comes from another machine."""
    loaded = re.compile(r'<(?:script|link|img)\b[^>]*?(?:src|href)="(https?://[^"]+)"')
    found = {
        url for page in site.rglob("*.html") for url in loaded.findall(page.read_text())
    }
    assert found == set()


def test_every_public_name_is_documented(site):
    """The API page has a heading for every name that `import metro` gives."""
    import metro

    text = (site / "api.html").read_text()
    names = [name for name in metro.__all__ if name != "__version__"]
    missing = [
        name for name in names if not re.search(rf'id="metro\.[\w.]*\b{name}"', text)
    ]
    assert missing == []

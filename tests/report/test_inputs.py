"""What a report is made from."""

import json
import re

import pytest
from row_makers import ROWS, study

from metro.errors import BenchmarkError
from metro.report.build import write_report
from metro.report.inputs import gather


@pytest.fixture
def folder(tmp_path):
    """A folder with everything that a report is made from."""
    place = tmp_path / "results"
    (place / "studies").mkdir(parents=True)
    (place / "pictures").mkdir()
    (place / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    (place / "studies" / "one.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    (place / "pictures" / "film.gif").write_bytes(b"GIF89a")
    told = {"film.gif": {"caption": "A film.", "command": "metro demo"}}
    (place / "pictures" / "captions.json").write_text(json.dumps(told))
    (place / "preface.md").write_text(
        "# Results\n\nWords.\n\n## Found\n\n- **a** `b`\n"
    )
    return place


def test_a_folder_is_gathered(folder, tmp_path):
    """Rows, studies, pictures and preface; the page has them all, in one file."""
    found = gather([folder])
    assert (len(found.rows), found.study_rows) == (24, {"one": [{"a": 1}, {"a": 2}]})
    files = write_report(
        found, tmp_path / "out", (study(), study(name="two", title="No"))
    )
    names = {file.name for file in files}
    assert {"film.gif", "study-one-a.png", "report.html"} <= names
    page = files[1].read_text()
    assert "<li><strong>a</strong> <code>b</code></li>" in page
    assert "2 rows." in page
    assert "Not run. This runs it:" in page
    assert "data:image/gif;base64," in page
    text = files[0].read_text()
    assert text.count("\n# ") + text.startswith("# ") == 1
    assert text.index("## Found") < text.index("## Overview") < text.index("## tworoom")
    assert text.index("## Studies") < text.index("![A film.](film.gif)")


def test_a_folder_that_does_not_fit(folder):
    """No rows, a picture without a caption, one that is not there, no captions."""
    captions = folder / "pictures" / "captions.json"

    def told(wanted):
        with pytest.raises(BenchmarkError, match=f"^{re.escape(wanted)}$"):
            gather([folder])

    kept = captions.read_text()
    captions.write_text("{}")
    told(f"{folder}/pictures/film.gif has no caption. Mend {captions}.")
    captions.write_text(kept.replace("film", "other"))
    told(f"{folder}/pictures/film.gif has no caption. Mend {captions}.")
    captions.write_text("[]")
    shape = '{"file": {"caption": ..., "command": ...}}'
    told(f"{captions} must be {shape}. Mend it.")
    captions.write_text(kept)
    (folder / "pictures" / "film.gif").unlink()
    told(
        f"{folder}/pictures/film.gif has a caption, but is not there. Mend {captions}."
    )
    (folder / "rows.jsonl").unlink()
    told(
        f"{folder} has no rows (*.jsonl). metro evaluate -o {folder}/rows.jsonl "
        f"writes them."
    )

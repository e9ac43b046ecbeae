"""Hooks of mkdocs: pictures of the results, and links that leave docs/.

Pages are read in two places, in the repository and as a site. A link such as
``../research/routes.json`` works only in the first; on the site it becomes plain text.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PICTURES = "results/pictures"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?:\.\./)+([^)]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pictures of ``results/`` to the site."""
    for picture in sorted((ROOT / PICTURES).iterdir()):
        if picture.suffix in (".png", ".gif"):
            uri = f"{PICTURES}/{picture.name}"
            files.append(File.generated(config, uri, abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Mend the links of a page that point outside ``docs/``."""
    up = "../" * page.file.src_uri.count("/")

    def mended(link: re.Match[str]) -> str:
        mark, text, target = link.groups()
        if target.startswith(PICTURES):
            return f"{mark}[{text}]({up}{target})"
        return link[0] if (ROOT / "docs" / target).exists() else text

    return _LINK.sub(mended, markdown)

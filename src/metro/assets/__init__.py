"""World models that come with metro: one ``.safetensors`` and one card each.

Macro models have a ``.report.json`` too: what their training took, for studies.
"""

from pathlib import Path

from metro.errors import ModelError

_MACRO = "macro-"
"""How the names of macro models begin, which are no world models."""


def asset_names() -> list[str]:
    """Return the names of the world models that come with metro, sorted."""
    return [name for name in _names() if not name.startswith(_MACRO)]


def macro_asset_names() -> list[str]:
    """Return the names of the macro models that come with metro, sorted."""
    return [name for name in _names() if name.startswith(_MACRO)]


def asset_path(name: str) -> Path:
    """Return the file of a model that comes with metro, or say which there are."""
    if name not in _names():
        known = ", ".join(_names()) or "none"
        raise ModelError(f"No model {name!r} comes with metro. There are: {known}.")
    return _folder() / f"{name}.safetensors"


def _names() -> list[str]:
    return sorted(file.stem for file in _folder().glob("*.safetensors"))


def _folder() -> Path:
    return Path(__file__).parent

"""World models that come with metro: one ``.safetensors`` and one card each."""

from pathlib import Path

from metro.errors import ModelError


def asset_names() -> list[str]:
    """Return the names of the models that come with metro, sorted."""
    return sorted(file.stem for file in _folder().glob("*.safetensors"))


def asset_path(name: str) -> Path:
    """Return the file of a model that comes with metro, or say which there are."""
    if name not in asset_names():
        known = ", ".join(asset_names()) or "none"
        raise ModelError(f"No model {name!r} comes with metro. There are: {known}.")
    return _folder() / f"{name}.safetensors"


def _folder() -> Path:
    return Path(__file__).parent

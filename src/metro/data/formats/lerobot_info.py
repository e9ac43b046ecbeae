"""``meta/info.json`` of a LeRobot dataset: what it promises, checked."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metro.errors import CorpusError
from metro.files import has_type, require_regular_file

LEROBOT_AGAIN = "It may be half downloaded: fetch it again."
"""What to do about a dataset of which something is missing."""

_PICTURES = ("video", "image")


def cameras_of(features: Mapping[str, Any]) -> list[str]:
    """Return the names of the features that are pictures."""
    return [name for name, one in features.items() if one["dtype"] in _PICTURES]


def read_info(place: Path) -> dict[str, Any]:
    """Return ``meta/info.json``, its values of the types that are used here."""
    file = place / "meta" / "info.json"
    require_regular_file(file, CorpusError)
    info = json.loads(file.read_text("utf-8"))
    version = info.get("codebase_version")
    if not str(version).startswith("v3."):
        raise CorpusError(
            f"{place} is LeRobot {version}, metro reads v3: convert it with lerobot's "
            f"convert_dataset_v21_to_v30."
        )
    kinds = {"total_episodes": int, "total_frames": int, "data_path": str, "fps": float}
    wrong = [name for name, kind in kinds.items() if not has_type(info.get(name), kind)]
    if wrong or not info["fps"] > 0:
        raise CorpusError(
            f"{place}: info.json has no {(wrong or ['fps'])[0]}. {LEROBOT_AGAIN}"
        )
    for name, feature in info["features"].items():
        shape = feature["shape"]
        if not has_type(tuple(shape), tuple[int, ...]) or min(shape, default=1) < 1:
            raise CorpusError(f"{place}: {name} has the shape {shape}. {LEROBOT_AGAIN}")
        if not isinstance(feature["dtype"], str):
            raise CorpusError(f"{place}: {name} has no type. {LEROBOT_AGAIN}")
    if any(one["dtype"] == "video" for one in info["features"].values()):
        if not isinstance(info.get("video_path"), str):
            raise CorpusError(f"{place}: info.json has no video_path. {LEROBOT_AGAIN}")
    return dict(info)

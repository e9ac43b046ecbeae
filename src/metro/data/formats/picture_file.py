"""Pictures as PNG or JPEG, read with Pillow: always ``[H, W, 3]`` uint8."""

from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5_layout import AGAIN
from metro.errors import CorpusError, MissingExtra
from metro.files import reading, require_regular_file

SUFFIXES = (".png", ".jpg", ".jpeg")

_MODES = ("RGB", "RGBA", "P", "L", "1")
"""What has eight bits a channel; transparency is dropped, grey becomes three equal."""


def read_picture(
    picture: Path | bytes, where: str, like: tuple[int, ...] | None
) -> NDArray[np.uint8]:
    """Return one picture.

    Args:
        picture: A file or its content.
        where: What a message calls it.
        like: Height and width of the dataset's first picture, ``(H, W)`` or longer;
            None for that one itself.
    """
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtra(
            f'Reading {where} needs the "data" extra: pip install "metro-wm[data]"'
        ) from error
    if isinstance(picture, Path):
        require_regular_file(picture, CorpusError)
    source: Any = picture if isinstance(picture, Path) else BytesIO(picture)
    with reading(where, CorpusError, AGAIN):
        try:
            with Image.open(source, formats=("PNG", "JPEG")) as image:
                size = (image.height, image.width)
                # Before it is unpacked: a small file may claim any size.
                require_alike(where, size, like, f"mode {image.mode}")
                if image.mode not in _MODES:
                    raise CorpusError(
                        f"{where} has mode {image.mode}, frames are 8-bit colour. "
                        f"Save it as RGB."
                    )
                return np.asarray(image.convert("RGB"))
        except Image.DecompressionBombError as error:
            raise ValueError(str(error)) from error


def require_alike(
    where: str, size: tuple[int, int], like: tuple[int, ...] | None, kind: str
) -> None:
    """Raise `CorpusError` unless a frame is as large as the dataset's first."""
    if like is not None and size != tuple(like[:2]):
        raise CorpusError(
            f"{where} is {size[0]} x {size[1]} ({kind}), the frames of its dataset are "
            f"{like[0]} x {like[1]}: all must be alike. Leave it out or resize it."
        )


def choose_camera(place: Path, cameras: list[str], wanted: str | None) -> str:
    """Return the one that is wanted, or the only one."""
    if wanted in cameras or (wanted is None and len(cameras) == 1):
        return wanted or cameras[0]
    if not cameras:
        raise CorpusError(f"{place} has no pictures: metro plans from pictures.")
    named = ", ".join(cameras)
    if wanted is None:
        raise CorpusError(
            f"{place} has several cameras: {named}. Choose one with camera (--camera)."
        )
    raise CorpusError(f"{place} has no camera {wanted!r}; it has {named}.")

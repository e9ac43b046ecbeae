"""The canvas that all pictures and videos of frames are drawn on."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from metro.errors import MissingExtra

# The first six are Okabe and Ito's, which colour-blind readers can separate.
_EPISODE_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"),
    *("#6a51a3", "#8c564b", "#bcbd22", "#1b9e9e"),
)
_LINE = 18
"""Pixels of a line of text above a picture."""


class Colours:
    """Colours of words and lines."""

    BLACK = "#14161a"
    QUIET = "#5b6068"
    WHITE = "#ffffff"

    @staticmethod
    def over(colour: str) -> str:
        """Return black or white, whichever is readable on ``colour``."""
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        # Weights of perceived brightness (ITU-R BT.601): green looks lightest.
        light = 0.299 * red + 0.587 * green + 0.114 * blue
        return Colours.BLACK if light > 125 else Colours.WHITE


def episode_colour(number: int) -> str:
    """Return the colour of the n-th episode; after ten they repeat."""
    return _EPISODE_COLOURS[number % len(_EPISODE_COLOURS)]


def resize(picture: NDArray[Any], side: int, *, smooth: bool = False) -> Any:
    """Return a frame as an image of ``side`` pixels: its own pixels, or smooth ones."""
    images = _pillow("Image")
    method = images.Resampling.BICUBIC if smooth else images.Resampling.NEAREST
    return images.fromarray(picture).resize((side, side), method)


class Canvas:
    """A white image of ``size`` (width, height) pixels, and what is drawn on it."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.image = _pillow("Image").new("RGB", size, Colours.WHITE)
        self._draw = _pillow("ImageDraw").Draw(self.image)

    def write(
        self,
        place: tuple[int, int],
        text: str,
        size: int,
        colour: str = Colours.BLACK,
        *,
        anchor: str = "la",
    ) -> None:
        """Write a line of text."""
        self._draw.text(place, text, fill=colour, font_size=size, anchor=anchor)

    def box(self, corner: tuple[int, int], size: tuple[int, int], colour: str) -> None:
        """Fill a box."""
        (left, top), (wide, high) = corner, size
        # Pillow's rectangles include their last pixel.
        self._draw.rectangle((left, top, left + wide - 1, top + high - 1), fill=colour)

    def arrow(self, start: tuple[int, int], stop: int, colour: str) -> None:
        """Draw an arrow to the right, to column ``stop``."""
        left, middle = start
        self._draw.line((left, middle, stop - 6, middle), fill=colour, width=4)
        tip = [(stop, middle), (stop - 10, middle - 6), (stop - 10, middle + 6)]
        self._draw.polygon(tip, fill=colour)

    def dashes(self, start: tuple[int, int], stop: int) -> None:
        """Draw a dashed line to the right, to column ``stop``."""
        left, middle = start
        for dash in range(left, stop, 8):
            end = min(dash + 4, stop)
            self._draw.line((dash, middle, end, middle), fill=Colours.BLACK, width=3)

    def ring(self, centre: tuple[int, int]) -> None:
        """Draw a bridge's end: a white disc in a black ring."""
        x, y = centre
        around = (x - 6, y - 6, x + 6, y + 6)
        self._draw.ellipse(around, fill=Colours.WHITE, outline=Colours.BLACK, width=3)

    def paste(self, picture: Any, corner: tuple[int, int]) -> None:
        """Put a picture on the canvas."""
        self.image.paste(picture, corner)

    def save(self, path: Path) -> None:
        """Write the canvas as PNG."""
        self.image.save(path, format="PNG", optimize=True)


@dataclass(frozen=True, eq=False)
class Tile:
    """A picture ``[S, S, 3]`` and the lines of text above it."""

    picture: NDArray[Any]
    caption: Sequence[str] = ()


def draw_tiles(
    rows: Sequence[Sequence[Tile]], side: int, *, gap: int = 4, smooth: bool = False
) -> Canvas:
    """Return rows of captioned pictures, each ``side`` pixels wide."""
    lines = max(len(tile.caption) for row in rows for tile in row)
    above, across = 8 + _LINE * lines, side + gap
    canvas = Canvas((max(map(len, rows)) * across, len(rows) * (above + side)))
    for number, row in enumerate(rows):
        top = number * (above + side)
        for column, tile in enumerate(row):
            left = column * across
            canvas.paste(resize(tile.picture, side, smooth=smooth), (left, top + above))
            for line, text in enumerate(tile.caption):
                canvas.write((left + 4, top + 6 + _LINE * line), text, 14)
    return canvas


def write_video(
    frames: Sequence[Canvas], path: Path, milliseconds: int | Sequence[int]
) -> None:
    """Write a GIF that repeats; every frame is shown for ``milliseconds``."""
    first, *others = (frame.image for frame in frames)
    times = milliseconds if isinstance(milliseconds, int) else list(milliseconds)
    first.save(path, save_all=True, append_images=others, duration=times, loop=0)


def _pillow(module: str) -> Any:
    try:
        # By name, so that this module loads without Pillow, which is an extra.
        return import_module(f"PIL.{module}")
    except ImportError:
        raise MissingExtra(
            'Pictures need Pillow: pip install "metro-wm[swm]"'
        ) from None

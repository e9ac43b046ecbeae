"""Lines, boxes and words on a white sheet: what storyboards are drawn with."""

from importlib import import_module
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from metro.errors import MissingExtra

_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"),
    *("#6a51a3", "#8c564b", "#bcbd22", "#1b9e9e"),
)


class Colours:
    """Colours of words and lines."""

    BLACK = "#14161a"
    QUIET = "#5b6068"
    WHITE = "#ffffff"

    @staticmethod
    def over(colour: str) -> str:
        """Return black or white, whichever is read on ``colour``."""
        red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
        light = 0.299 * red + 0.587 * green + 0.114 * blue
        return Colours.BLACK if light > 125 else Colours.WHITE


def colour_of(number: int) -> str:
    """Return the colour of the n-th episode; after ten they come again."""
    return _COLOURS[number % len(_COLOURS)]


def large(picture: NDArray[Any], side: int) -> Any:
    """Return a frame as an image of ``side`` pixels, which are the frame's own."""
    images = _pillow("Image")
    return images.fromarray(picture).resize((side, side), images.Resampling.NEAREST)


class Canvas:
    """A sheet of ``size`` (width, height) pixels, and what is drawn on it."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.sheet = _pillow("Image").new("RGB", size, Colours.WHITE)
        self._pen = _pillow("ImageDraw").Draw(self.sheet)

    def write(
        self,
        place: tuple[int, int],
        text: str,
        size: int,
        ink: str = Colours.BLACK,
        *,
        anchor: str = "la",
    ) -> None:
        """Write a line of text."""
        self._pen.text(place, text, fill=ink, font_size=size, anchor=anchor)

    def box(self, corner: tuple[int, int], size: tuple[int, int], colour: str) -> None:
        """Fill a box."""
        (left, top), (wide, high) = corner, size
        self._pen.rectangle((left, top, left + wide - 1, top + high - 1), fill=colour)

    def arrow(self, start: tuple[int, int], stop: int, colour: str) -> None:
        """Draw an arrow to the right, to column ``stop``."""
        left, middle = start
        self._pen.line((left, middle, stop - 6, middle), fill=colour, width=4)
        tip = [(stop, middle), (stop - 10, middle - 6), (stop - 10, middle + 6)]
        self._pen.polygon(tip, fill=colour)

    def dashes(self, start: tuple[int, int], stop: int) -> None:
        """Draw a dashed line to the right, to column ``stop``."""
        left, middle = start
        for dash in range(left, stop, 8):
            end = min(dash + 4, stop)
            self._pen.line((dash, middle, end, middle), fill=Colours.BLACK, width=3)

    def ring(self, centre: tuple[int, int], radius: int = 6) -> None:
        """Draw an interchange: a white disc in a black ring."""
        x, y = centre
        around = (x - radius, y - radius, x + radius, y + radius)
        self._pen.ellipse(around, fill=Colours.WHITE, outline=Colours.BLACK, width=3)

    def paste(self, picture: Any, corner: tuple[int, int]) -> None:
        """Put a picture on the sheet."""
        self.sheet.paste(picture, corner)

    def save(self, path: Path) -> None:
        """Write the sheet as PNG."""
        self.sheet.save(path, format="PNG", optimize=True)


def _pillow(module: str) -> Any:
    try:
        return import_module(f"PIL.{module}")
    except ImportError:
        raise MissingExtra(
            'Storyboards need Pillow: pip install "metro-wm[swm]"'
        ) from None

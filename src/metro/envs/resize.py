"""Pictures made smaller, the same way in every environment."""

import numpy as np

from metro.types import Image


def shrink(picture: Image, shape: tuple[int, ...]) -> Image:
    """Return a picture of another size, each pixel the mean of an area.

    Args:
        picture: ``[height, width, 3]``, contiguous; returned itself if it fits.
        shape: Height and width of the result, in pixels; more is ignored.
    """
    height, width = shape[:2]
    if picture.shape[:2] == (height, width):
        return picture
    import cv2

    small = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8)

"""Pictures made smaller: means of areas, and nothing done where nothing is to do."""

import numpy as np

from metro.envs.resize import shrink


def test_a_pixel_is_the_mean_of_its_area():
    """Every pixel of the result is the rounded mean of the block that it covers."""
    picture = np.random.default_rng(0).integers(0, 255, (6, 9, 3), np.uint8)
    blocks = picture.reshape(2, 3, 3, 3, 3).astype(float).mean(axis=(1, 3))
    small = shrink(picture, (2, 3))
    assert (small.dtype, small.shape) == (np.uint8, (2, 3, 3))
    assert np.abs(small - blocks).max() <= 0.5 + 1e-4


def test_a_picture_that_fits_is_returned_itself():
    """No copy is made of a picture of the wanted size, and channels are ignored."""
    picture = np.zeros((4, 5, 3), np.uint8)
    assert shrink(picture, (4, 5, 3)) is picture


def test_height_comes_before_width():
    """The shape is height and width, as NumPy has it, not OpenCV's order."""
    assert shrink(np.zeros((8, 8, 3), np.uint8), (2, 4)).shape == (2, 4, 3)

"""Warnings of swm: two are silenced inside the block, no other, and not after."""

import warnings

import pytest

from metro.envs.variations import quiet_spaces

KNOWN = (
    "WARN: Casting input x to numpy array.",
    "WARN: Box low's precision lowered by casting to float32",
)


@pytest.mark.parametrize("text", KNOWN)
def test_known_noise_is_silenced(text):
    """The two known warnings are not raised, even where warnings are errors."""
    with warnings.catch_warnings(), quiet_spaces():
        warnings.warn(text, stacklevel=1)


def test_other_warnings_are_heard():
    """A warning that is not known reaches the user."""
    with quiet_spaces(), pytest.warns(UserWarning, match="^something else$"):
        warnings.warn("something else", stacklevel=1)


@pytest.mark.parametrize("text", KNOWN)
def test_silence_ends_with_the_block(text):
    """After the block the same warning is heard again."""
    with quiet_spaces():
        pass
    with pytest.raises(UserWarning, match=text[6:20]):
        warnings.warn(text, stacklevel=1)

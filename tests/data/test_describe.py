"""Laws of `metro.data.describe`: what it is, what it has, what comes next."""

import numpy as np
import pytest
from format_makers import MAKERS, lerobot, make_rows

from metro.data.corpus import open_corpus
from metro.data.describe import describe_corpus


def describe(path, camera=None):
    """Describe what is at a path."""
    with open_corpus(path, camera=camera, is_square=False) as corpus:
        return describe_corpus(corpus, camera)


@pytest.mark.parametrize("name", MAKERS)
def test_every_format_says_what_it_has(name, tmp_path):
    """The figures are those of the recording; HDF5 is encoded, others converted."""
    path = MAKERS[name](tmp_path)
    facts = describe(path)
    assert (facts["episodes"], facts["frames"]) == (3, 12)
    assert facts["frames per episode"] == [3, 5]
    assert facts["one frame"] == "32 x 32 x 3 uint8"
    assert facts["action size"] == facts["columns"]["action"][0] == 2
    verb = "encode" if facts["format"] == "HDF5" else "convert"
    assert facts["next"].startswith(f"metro {verb} {path} ")


def test_the_next_command_has_the_options_it_needs(tmp_path):
    """The size where frames are not square, and the camera that was chosen."""
    rows = make_rows()
    np.savez(
        tmp_path / "a b.npz", ep_len=[12], **rows | {"pixels": rows["pixels"][:, 1:]}
    )
    facts = describe(tmp_path / "a b.npz")
    path = f"'{tmp_path}/a b.npz'"
    assert facts["next"] == f"metro convert {path} 'a b'.h5 --image-size 224"
    camera = "observation.images.top"
    path = lerobot(tmp_path)
    facts = describe(path, camera)
    assert facts["next"] == f"metro convert {path} dataset.h5 --camera {camera}"


def test_without_actions_there_is_no_planning(tmp_path):
    """Frames can still be encoded, if they are square."""
    pixels = make_rows()["pixels"]
    np.savez(tmp_path / "x.npz", ep_len=[12], pixels=pixels)
    assert describe(tmp_path / "x.npz")["next"].startswith("metro encode ")
    np.savez(tmp_path / "x.npz", ep_len=[12], pixels=pixels[:, 1:])
    facts = describe(tmp_path / "x.npz")
    assert facts["action size"] is None
    assert facts["next"] == "none: planning needs a column action; add it"

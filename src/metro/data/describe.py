"""What recordings are and hold, in words, and which command comes next."""

import shlex
from pathlib import Path
from typing import Any

from metro.data.corpus import Corpus
from metro.data.formats.hdf5_layout import PIXELS


def describe_corpus(corpus: Corpus, camera: str | None = None) -> dict[str, Any]:
    """Return plain values by name; only the first frame is read.

    Args:
        corpus: As `metro.data.corpus.open_corpus` returns it.
        camera: Which of several cameras it was opened with.
    """
    height, width, channels = corpus.frame_shape
    columns = {
        name: list(shape[1:])
        for name, shape in sorted(corpus.shapes.items())
        if name != PIXELS
    }
    return {
        "format": corpus.kind,
        "episodes": corpus.num_episodes,
        "frames": corpus.num_frames,
        "frames per episode": [int(corpus.lengths.min()), int(corpus.lengths.max())],
        "one frame": f"{height} x {width} x {channels} {corpus.frame_dtype}",
        "action size": corpus.action_size,
        "columns": columns,
        "next": _next_command(corpus, camera),
    }


def _next_command(corpus: Corpus, camera: str | None) -> str:
    height, width, _ = corpus.frame_shape
    name, stem = shlex.quote(corpus.name), shlex.quote(Path(corpus.name).stem)
    has_actions, is_square = corpus.action_size is not None, height == width
    if is_square and camera is None and (corpus.kind == "HDF5" or not has_actions):
        return f"metro encode {name} --model MODEL -o {stem}.latents"
    if not has_actions:
        return "none: planning needs a column action; add it"
    more = "" if camera is None else f" --camera {shlex.quote(camera)}"
    more += "" if is_square else " --image-size 224"
    return f"metro convert {name} {stem}.h5{more}"

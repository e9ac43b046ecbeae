"""Measure how many pairs of frames of Cube recordings are solved before anything is done.

A pair of frames d apart is solved if the cube's centre is within 4 cm. Also told: frames with the
cube more than 2 cm above the table, and frames in which it falls more than 3 cm.

    python -m research.presolved CORPUS.h5 ...
"""

import json
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from metro.version import commit

TARGET = Path(__file__).parent / "presolved.json"
DISTANCES = (25, 50, 75)
REACHED, LIFTED, FELL = 0.04, 0.04, 0.03


def measure(path: Path) -> dict[str, Any]:
    """Return the shares of one corpus of episodes that are equally long."""
    with h5py.File(path) as corpus:
        told = json.loads(corpus.attrs["metro"])
        places = corpus["privileged_block_0_pos"][:]
    places = places.reshape(told["episodes"], -1, 3)
    heights = places[:, :, 2]
    return {
        "corpus": path.name,
        "recipe": told["recipe"],
        "episodes": told["episodes"],
        "seed": told["seed"],
        "commit": commit(),
        "solved pairs": {
            str(d): _share(_moved(places, d) <= REACHED) for d in DISTANCES
        },
        "in the air": _share(heights > LIFTED),
        "falling": _share(np.diff(heights, axis=1) < -FELL),
    }


def _moved(places: np.ndarray, distance: int) -> np.ndarray:
    return np.linalg.norm(places[:, distance:] - places[:, :-distance], axis=2)


def _share(which: np.ndarray) -> float:
    return round(float(which.mean()), 4)


def main() -> None:
    """Measure the corpora that were named, and write research/presolved.json."""
    rows = [measure(Path(name)) for name in sys.argv[1:]]
    told = {"command": "python -m research.presolved CORPUS.h5 ...", "rows": rows}
    TARGET.write_text(json.dumps(told, indent=1) + "\n")
    print(TARGET.read_text())


if __name__ == "__main__":
    main()

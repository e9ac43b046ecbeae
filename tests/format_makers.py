"""The same three episodes in every format that is read, as others would write them."""

import csv
import json
import shutil
from pathlib import Path

import av
import h5py
import numpy as np
from corpus_makers import LENGTHS, write
from PIL import Image

GOLDEN = Path(__file__).parent / "golden"
STARTS = np.cumsum(LENGTHS) - LENGTHS
SIDE = 32


def make_pictures():
    """Return frames that survive lossy codecs: one grey per frame, and a red side."""
    greys = (np.arange(LENGTHS.sum()) * 15 + 20).astype(np.uint8)
    pixels = np.tile(greys[:, None, None, None], (1, SIDE, SIDE, 3))
    pixels[:, :, SIDE // 2 :] = (220, 40, 40)
    return pixels


def make_rows():
    """Return what all formats are to give back."""
    rng = np.random.default_rng(1)
    return {
        "pixels": make_pictures(),
        "action": rng.normal(size=(12, 2)).astype(np.float32),
        "place": rng.normal(size=(12, 3)).astype(np.float32),
    }


def episodes(rows):
    """Return the columns of every episode."""
    return [
        {name: values[first : first + length] for name, values in rows.items()}
        for first, length in zip(STARTS, LENGTHS, strict=True)
    ]


def write_video(file, frames, size=None, fps=10):
    """Write frames as mp4, with the codec that LeRobot's datasets had first."""
    height, width = size or frames.shape[1:3]
    with av.open(str(file), "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=fps, options={"crf": "12"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame)))
        container.mux(stream.encode())


def minimal_hdf5(folder):
    """Pixels, actions, lengths, and nothing else that is asked for."""
    return write(folder / "least.h5", make_rows() | {"ep_len": LENGTHS})


def released_hdf5(folder):
    """With offsets; the name of the file says nothing of its format."""
    rows = make_rows() | {"ep_len": LENGTHS, "ep_offset": STARTS}
    return write(folder / "released.bin", rows)


def plain_npz(folder):
    """Arrays in an archive, uncompressed."""
    np.savez(folder / "x.npz", ep_len=LENGTHS, **make_rows())
    return folder / "x.npz"


def packed_npz(folder):
    """Arrays in an archive, compressed."""
    np.savez_compressed(folder / "x.npz", ep_len=LENGTHS, **make_rows())
    return folder / "x.npz"


def npy_folder(folder):
    """One file per array."""
    for name, values in (make_rows() | {"ep_len": LENGTHS}).items():
        np.save(folder / name, values)
    return folder


def ogbench(folder):
    """Observations, actions, terminals: 1 at the last row of an episode."""
    rows = make_rows()
    ends = np.zeros(12, bool)
    ends[STARTS + LENGTHS - 1] = True
    own = {"observations": rows["pixels"], "actions": rows["action"]}
    np.savez_compressed(
        folder / "visual.npz", terminals=ends, place=rows["place"], **own
    )
    return folder / "visual.npz"


def minari(folder, *, jpeg=False):
    """A group for every episode, one action fewer than observations."""
    (folder / "data").mkdir()
    bytes_of_any_length = h5py.vlen_dtype(np.uint8)
    with h5py.File(folder / "data" / "main_data.hdf5", "w") as file:
        for number, one in enumerate(episodes(make_rows())):
            group = file.create_group(f"episode_{number}")
            group["actions"] = one["action"][:-1]
            group["rewards"] = np.zeros(len(one["action"]) - 1)
            group["observations/place"] = one["place"]
            pixels = one["pixels"]
            if jpeg:
                packed = np.empty(len(pixels), object)
                packed[:] = [jpeg_bytes(picture) for picture in pixels]
                group.create_dataset(
                    "observations/image", data=packed, dtype=bytes_of_any_length
                )
            else:
                group["observations/image"] = pixels
    about = {"total_episodes": 3, "total_steps": 9, "data_format": "hdf5"}
    (folder / "data" / "metadata.json").write_text(json.dumps(about))
    return folder


def minari_jpeg(folder):
    """As Minari writes pictures unless it is asked not to."""
    return minari(folder, jpeg=True)


def jpeg_bytes(picture):
    """Return a picture as JPEG."""
    from io import BytesIO

    stream = BytesIO()
    Image.fromarray(picture).save(stream, "JPEG", quality=95)
    return np.frombuffer(stream.getvalue(), np.uint8)


def write_table(folder, last=True, action="action"):
    """Write actions.csv, with the last rows of episodes or without them."""
    with (folder / "actions.csv").open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["episode", f"{action}_0", f"{action}_1", "place_0"])
        for number, one in enumerate(episodes(make_rows())):
            until = len(one["action"]) - (not last)
            for act, place in zip(one["action"][:until], one["place"], strict=False):
                table.writerow([f"take{number}", *act.tolist(), place[0]])


def picture_folder(folder):
    """A folder of PNG per episode, numbered without zeros in front."""
    for number, one in enumerate(episodes(make_rows())):
        (folder / f"take{number}").mkdir()
        for step, picture in enumerate(one["pixels"], start=8):
            file = folder / f"take{number}" / f"frame{step}.png"
            Image.fromarray(picture).save(file)
    write_table(folder)
    return folder


def film_folder(folder):
    """A video per episode; the table leaves out the last rows."""
    for number, one in enumerate(episodes(make_rows())):
        write_video(folder / f"take{number}.mp4", one["pixels"])
    write_table(folder, last=False)
    return folder


MAKERS = {
    maker.__name__: maker
    for maker in (
        *(minimal_hdf5, released_hdf5, plain_npz, packed_npz, npy_folder, ogbench),
        *(minari, minari_jpeg, picture_folder, film_folder),
    )
}
"""Every format that is easily made here, by name."""

LOSSY = {"minari_jpeg", "film_folder"}


def lerobot(folder, kind="video"):
    """Copy the dataset that lerobot 0.4.4 wrote, frames in videos or in tables.

    Three episodes of 12, 9 and 15 frames, 64 x 64; step s has a white bar, 4 s wide.
    """
    shutil.copytree(GOLDEN / f"lerobot-{kind}", folder / "dataset")
    return folder / "dataset"

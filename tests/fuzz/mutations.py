"""Small healthy files, spoiled at random and opened: one line or an answer."""

import gzip
import json
import shutil
import sys
from contextlib import suppress
from pathlib import Path

import h5py
import numpy as np
from alterations import spoil_bytes, spoil_hdf5, spoil_npz, spoil_text
from forking import in_fresh_process
from opening import Kind, main


def campaign(seed: int, seconds: float, most: int = 10**9) -> dict[str, int]:
    """Return counts of every kind of file: tries, and what came of them.

    Args:
        seed: Of the alterations.
        seconds: How long to go on, for all kinds together.
        most: Number of tries of every kind.
    """
    return in_fresh_process(__file__, seed, seconds, most)


def make_columns():
    """Return the columns of a small recording of TwoRoom."""
    rng = np.random.default_rng(0)
    return {
        "ep_len": np.array([5, 3, 4]),
        "ep_offset": np.array([0, 5, 8]),
        "pixels": rng.integers(0, 256, (12, 8, 8, 3)).astype(np.uint8),
        "action": rng.normal(size=(12, 2)).astype(np.float32),
        "proprio": rng.normal(size=(12, 2)).astype(np.float32),
    }


def make_hdf5(path):
    """Write a corpus as the released ones are, some of its columns in chunks."""
    with h5py.File(path, "w") as file:
        for name, values in make_columns().items():
            packed = {"chunks": True, "compression": "gzip"} if values.ndim > 1 else {}
            file.create_dataset(name, data=values, **packed)
        settings = {"benchmark": "tworoom", "rendering": "stock"}
        file.attrs["metro"] = json.dumps(settings)


def make_npz(path):
    """Write a corpus as arrays."""
    np.savez(path, **make_columns())


def make_ogbench(path):
    """Write a corpus as OGBench does."""
    columns, ends = make_columns(), np.zeros(12)
    ends[[4, 7, 11]] = 1
    own = {"observations": columns["pixels"], "actions": columns["action"]}
    np.savez_compressed(path, terminals=ends, **own)


def make_minari(path):
    """Write a corpus as Minari does."""
    with h5py.File(path, "w") as file:
        for number in range(3):
            file[f"episode_{number}/actions"] = np.zeros((4, 2))
            pixels = np.zeros((5, 8, 8, 3), np.uint8)
            file[f"episode_{number}/observations/image"] = pixels


def make_part(path):
    """Copy the file of a LeRobot dataset that is called like this one."""
    (part,) = LEROBOT.rglob(path.name)
    shutil.copyfile(part, path)


def open_lerobot(path):
    """Read a dataset in which one file is what lies at a path."""
    place = path.with_name("dataset")
    shutil.copytree(LEROBOT, place)
    (part,) = place.rglob(path.name)
    part.unlink()
    path.rename(part)
    open_foreign(place)


def open_foreign(path):
    """Read all of a corpus that metro did not record."""
    from metro.data.corpus import open_corpus
    from metro.data.describe import describe_corpus

    with open_corpus(str(path), is_square=False) as corpus:
        describe_corpus(corpus)
        assert len(corpus.digest) == 64
        for episode in range(corpus.num_episodes):
            assert corpus.frames(episode).dtype == np.uint8


def make_latents():
    """Return latents of three episodes."""
    z = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    return {"z": z, "episode_lengths": np.array([20, 25, 15])}


def make_latents_npz(path):
    """Write latents as an archive."""
    np.savez(path, **make_latents())


def make_latents_hdf5(path):
    """Write latents as HDF5."""
    with h5py.File(path, "w") as file:
        for name, values in make_latents().items():
            file[name] = values


def make_queries(path):
    """Write queries with everything that is known of them."""
    lines = [
        "# corpus 0123abcd",
        "episode,start,goal,is_presolved,demonstration_frames",
    ]
    lines += [f"{n},{n + 3},{n + 28},{n % 2},{20 + n}" for n in range(8)]
    path.write_text("\n".join(lines) + "\n")


def make_benchmark(path):
    """Copy a benchmark of ours."""
    from metro.benchmark import benchmarks_folder

    shutil.copyfile(benchmarks_folder() / "tworoom.toml", path)


def make_rows(path):
    """Write some rows, plain or packed, as the name says."""
    from metro.evaluation.packing import pack, to_line

    sys.path.append(str(Path(__file__).parents[1]))
    from row_makers import FLAT, METRO

    lines = METRO + FLAT
    is_packed = path.suffix == ".gz"
    path.write_bytes(pack(lines) if is_packed else b"".join(map(to_line, lines)))


def spoil_packed(rng, path):
    """Spoil the text inside a packed file."""
    content = gzip.decompress(path.read_bytes())
    path.write_bytes(content)
    rng.choice((spoil_text, spoil_bytes))(rng, path)
    path.write_bytes(gzip.compress(path.read_bytes()))


def open_recording(path):
    """Read all of a corpus, as queries, encode and train do."""
    from metro.benchmark import load_benchmark
    from metro.data.corpus import open_corpus

    with open_corpus(str(path)) as corpus:
        corpus.require(load_benchmark("tworoom"))
        assert len(corpus.digest) == 64
        for episode in range(corpus.num_episodes):
            assert corpus.frames(episode).dtype == np.uint8
        corpus.row(corpus.num_frames - 1)


def open_latents(path):
    """Read latents, as build does."""
    from metro.storage.readers import read_latents

    assert read_latents(path).num_frames > 0


def open_queries(path):
    """Read queries, as evaluate does."""
    from metro.evaluation.draw_queries import find_queries

    assert len(find_queries("tworoom", 25, path)) > 0


def open_benchmark(path):
    """Read a benchmark, as all verbs do."""
    from metro.benchmark import evaluation_calls, read_benchmark

    evaluation_calls(read_benchmark(path))


def open_rows(path):
    """Read rows, as report, reproduce and evaluate do."""
    from metro.analysis.reproduce import reproduce
    from metro.errors import MetroError
    from metro.evaluation.records import by_key, read_records, run_key
    from metro.report.build import results_markdown
    from metro.report.inputs import gather

    rows = read_records(path)
    # What one of them refuses, another one sees all the same.
    with suppress(MetroError):
        by_key(rows, run_key)
    with suppress(MetroError):
        reproduce(rows)
    results_markdown(gather([path]))


LEROBOT = Path(__file__).parents[1] / "golden" / "lerobot-video"

KINDS = {
    "ogbench": Kind("o.npz", make_ogbench, spoil_npz, open_foreign),
    "minari": Kind("main_data.hdf5", make_minari, spoil_bytes, open_foreign),
    "mp4": Kind("file-000.mp4", make_part, spoil_bytes, open_lerobot),
    "info": Kind("info.json", make_part, spoil_text, open_lerobot),
    "hdf5": Kind("c.h5", make_hdf5, spoil_hdf5, open_recording),
    "npz": Kind("c.npz", make_npz, spoil_npz, open_recording),
    "latents.npz": Kind("z.npz", make_latents_npz, spoil_npz, open_latents),
    "latents.h5": Kind("z.h5", make_latents_hdf5, spoil_hdf5, open_latents),
    "csv": Kind("q.csv", make_queries, spoil_text, open_queries),
    "toml": Kind("b.toml", make_benchmark, spoil_text, open_benchmark),
    "rows": Kind("r.jsonl", make_rows, spoil_text, open_rows),
    "packed": Kind("r.jsonl.gz", make_rows, spoil_packed, open_rows),
}


def prepare() -> None:
    """Import what opens folders and pipes that are called like a corpus."""
    from metro.compat import import_swm

    import_swm()


if __name__ == "__main__":
    main(KINDS, prepare)

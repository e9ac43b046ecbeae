"""Recording: the same bytes however it is done, whole or not at all."""

import os
import re
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest

from metro.benchmark import evaluation_calls, load_benchmark
from metro.compat import import_swm
from metro.data.collect import assembly, workers
from metro.data.collect.episode import load_episode, record_episode
from metro.data.collect.record import record
from metro.data.collect.spec import RecordingSpec
from metro.envs import open_env
from metro.envs.cpu_determinism import (
    common_arithmetic,
)
from metro.envs.rendering import find_renderer
from metro.errors import BenchmarkError, MetroError, StorageError, WorldError

SMALL = {"episodes": 5, "image_size": 32, "steps": 12}

PROGRAM = """
import sys
from metro.benchmark import load_benchmark
from metro.data.collect.record import record
if __name__ == "__main__":
    {before}
    try:
        record(load_benchmark("tworoom"), sys.argv[1], **{settings}, workers={workers})
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        sys.exit(f"{{type(error).__name__}}: {{error}}")
"""


@pytest.fixture(scope="module")
def tworoom():
    """The benchmark that records fastest."""
    return load_benchmark("tworoom")


@pytest.fixture(scope="module")
def corpus(tworoom, tmp_path_factory):
    """Five short episodes, recorded by one process."""
    path = tmp_path_factory.mktemp("corpus") / "tworoom.h5"
    record(tworoom, path, **SMALL)
    return path


def start(path, *, workers=1, before="", **settings):
    """Start recording to ``path`` in another process, by a script of its own."""
    script = path.with_name("script.py")
    given = SMALL | settings
    script.write_text(PROGRAM.format(settings=given, workers=workers, before=before))
    return subprocess.Popen(
        [sys.executable, str(script), str(path)], stderr=subprocess.PIPE, text=True
    )


def wait_for_episodes(path, count):
    """Wait until that many episodes of the recording are kept."""
    folder = path.with_name(f".{path.name}.partial")
    for _ in range(2400):
        if len(list(folder.glob("episode-*.npz"))) >= count:
            return
        time.sleep(0.05)
    raise AssertionError("nothing was recorded")


def test_the_layout_is_that_of_released_files(corpus):
    """Rows = steps + 1, last action NaN, episodes one after the other."""
    with h5py.File(corpus) as file:
        lengths, offsets = file["ep_len"][:], file["ep_offset"][:]
        assert lengths.dtype == np.int32
        assert offsets.dtype == np.int64
        np.testing.assert_array_equal(offsets, np.cumsum(lengths) - lengths)
        rows = int(lengths.sum())
        assert file["pixels"].shape == (rows, 32, 32, 3)
        assert file["pixels"].compression == "gzip"
        np.testing.assert_array_equal(file["ep_idx"], np.repeat(range(5), lengths))
        last = offsets + lengths - 1
        np.testing.assert_array_equal(file["step_idx"][:][last], lengths - 1)
        is_nan = np.isnan(file["action"][:]).all(axis=1)
        np.testing.assert_array_equal(np.flatnonzero(is_nan), last)
        assert set(file) == {
            *("pixels", "action", "ep_len", "ep_offset", "ep_idx", "step_idx"),
            *("proprio", "pos_agent", "state"),
        }


def test_rows_replay(corpus, tworoom):
    """Restoring a row and repeating its actions gives the next rows and frames."""
    world = open_env(tworoom, image_size=32)
    with h5py.File(corpus) as file:
        world.reset(99)
        world.set_state({"proprio": file["proprio"][0]})
        for row in range(int(file["ep_len"][0])):
            np.testing.assert_array_equal(world.render(), file["pixels"][row])
            np.testing.assert_array_equal(
                world.get_state()["state"], file["state"][row]
            )
            world.step(np.nan_to_num(file["action"][row]))


def test_two_workers_write_the_same_bytes(corpus, tworoom, tmp_path):
    """And leave nothing else behind."""
    path = tmp_path / "tworoom.h5"
    reports = []
    record(tworoom, path, **SMALL, workers=2, progress=lambda *r: reports.append(r))
    assert path.read_bytes() == corpus.read_bytes()
    assert os.listdir(tmp_path) == ["tworoom.h5"]
    assert reports == [(done, 5) for done in range(6)]


def test_an_episode_does_not_depend_on_those_before(tworoom, tmp_path):
    """Recorded alone it equals itself after three others."""
    plan = RecordingSpec(tworoom, 5, 0, "crossing", 32, "stock", 12)
    fresh, used = (open_env(tworoom, image_size=32) for _ in range(2))
    for number in (0, 3, 1):
        record_episode(plan, used, number)
    alone, after = record_episode(plan, fresh, 4), record_episode(plan, used, 4)
    assert alone.pictures == after.pictures
    for name, rows in alone.columns.items():
        np.testing.assert_array_equal(after.columns[name], rows)


def test_seeds_give_different_recordings(corpus, tworoom, tmp_path):
    """Of all episodes."""
    record(tworoom, tmp_path / "x.h5", **SMALL, seed=1)
    with h5py.File(corpus) as one, h5py.File(tmp_path / "x.h5") as other:
        first = {tuple(one["proprio"][row]) for row in one["ep_offset"]}
        second = {tuple(other["proprio"][row]) for row in other["ep_offset"]}
    assert len(first) == len(second) == 5
    assert not first & second


def test_killed_it_goes_on_and_ends_with_the_same_bytes(corpus, tworoom, tmp_path):
    """SIGKILL, in the middle; nothing had the final name."""
    path = tmp_path / "tworoom.h5"
    slow = "import zlib; fast = zlib.compress"
    slow += "; import time; zlib.compress = lambda *a: (time.sleep(0.1), fast(*a))[1]"
    running = start(path, before=slow)
    wait_for_episodes(path, 2)
    running.kill()
    running.communicate()
    assert not path.exists()
    reports = []
    record(tworoom, path, **SMALL, progress=lambda *report: reports.append(report))
    assert reports[0][0] >= 2
    assert path.read_bytes() == corpus.read_bytes()


def test_ctrl_c_ends_the_workers_and_keeps_what_is_finished(corpus, tworoom, tmp_path):
    """As a terminal sends it: to the parent and to its workers."""
    path = tmp_path / "tworoom.h5"
    running = start(path, workers=2, episodes=5000)
    wait_for_episodes(path, 3)
    running.send_signal(signal.SIGINT)
    _, complaint = running.communicate(timeout=60)
    assert running.returncode == 130, complaint
    assert not path.exists()
    kept = sorted(tmp_path.glob(".tworoom.h5.partial/episode-*.npz"))
    assert len(kept) >= 3
    number = int(kept[0].stem.split("-")[1])
    plan = RecordingSpec(tworoom, 5000, 0, "crossing", 32, "stock", 12)
    again = record_episode(plan, open_env(tworoom, image_size=32), number)
    assert load_episode(kept[0]).pictures == again.pictures


def test_episodes_of_other_settings_are_not_mixed_in(corpus, tworoom, tmp_path):
    """A half recording with another seed is thrown away."""
    path = tmp_path / "tworoom.h5"
    folder = tmp_path / ".tworoom.h5.partial"
    folder.mkdir()
    (folder / "key.txt").write_text("{}")
    (folder / "episode-0000000.npz").write_text("of another seed")
    record(tworoom, path, **SMALL)
    assert path.read_bytes() == corpus.read_bytes()


def test_damaged_episodes_are_recorded_again(corpus, tworoom, tmp_path):
    """Cut short, altered or empty: one warning, and the same bytes."""
    path = tmp_path / "tworoom.h5"

    def stop(done, _):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(tworoom, path, **SMALL, progress=stop)
    files = sorted(tmp_path.glob(".tworoom.h5.partial/episode-*.npz"))
    files[0].write_bytes(b"")
    files[1].write_bytes(files[1].read_bytes()[:-3])
    files[2].write_bytes(files[2].read_bytes().replace(b"proprio", b"porprio"))
    with pytest.warns(RuntimeWarning, match="^3 of the parts in .* damaged") as said:
        record(tworoom, path, **SMALL)
    assert len(said) == 1
    assert path.read_bytes() == corpus.read_bytes()


def test_one_process_records_to_a_file(tworoom, tmp_path):
    """A second one learns so at once."""
    path = tmp_path / "tworoom.h5"

    def record_too(*_):
        with pytest.raises(StorageError, match="is being written by process"):
            record(tworoom, path, **SMALL)

    record(tworoom, path, **SMALL | {"episodes": 1}, progress=record_too)
    assert os.listdir(tmp_path) == ["tworoom.h5"]


def test_a_full_disk_is_told_and_what_was_recorded_is_kept(corpus, tworoom, tmp_path):
    """The system refuses large files, and so does HDF5, without a word more."""
    path = tmp_path / "tworoom.h5"
    limit = "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    limit += "; resource.setrlimit(resource.RLIMIT_FSIZE, (16000, 16000))"
    running = start(path, before=limit)
    _, complaint = running.communicate(timeout=120)
    assert complaint == (
        f"StorageError: {path} cannot be written: File too large. What was "
        "recorded is kept; the same command resumes from there.\n"
    )
    assert not path.exists()
    assert len(list(tmp_path.glob(".tworoom.h5.partial/*"))) == 6
    record(tworoom, path, **SMALL)
    assert path.read_bytes() == corpus.read_bytes()


def test_an_error_of_a_worker_reaches_the_caller(tworoom, tmp_path):
    """The error itself, not only an exit code."""
    spec = RecordingSpec(tworoom, 2, 0, "crossing", 32, "stock", 4)
    missing = tmp_path / "missing"
    with pytest.raises(FileNotFoundError, match="episode-0000000"):
        for _ in workers.record_episodes(
            spec, missing, [0], workers=2, renderer=find_renderer(tworoom)
        ):
            pass


def test_nothing_is_replaced_without_force(corpus, tworoom, tmp_path):
    """And with it only what metro recorded."""
    path = tmp_path / "x.h5"
    path.write_text("my only copy")
    message = f"{path} exists already. Replace it with force=True (--force)."
    with pytest.raises(StorageError, match=f"^{re.escape(message)}$"):
        record(tworoom, path, **SMALL)
    message = (
        f"{path} exists and is not a corpus that metro recorded; it will not be "
        "replaced, not even by force. Move it away or choose another name."
    )
    with pytest.raises(StorageError, match=f"^{re.escape(message)}$"):
        record(tworoom, path, **SMALL, force=True)
    assert path.read_text() == "my only copy"
    path.write_bytes(corpus.read_bytes())
    record(tworoom, path, **SMALL | {"episodes": 1}, force=True)
    with h5py.File(path) as file:
        assert len(file["ep_len"]) == 1


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"episodes": 0}, BenchmarkError, "episodes must be 1 or more, got 0."),
        ({"steps": -1}, BenchmarkError, "steps must be 1 or more, got -1."),
        ({"seed": -1}, BenchmarkError, "seed must be 0 or more, got -1."),
        ({"workers": 0}, BenchmarkError, "workers must be 1 or more, got 0."),
        (
            {"recipe": "lazy"},
            BenchmarkError,
            "tworoom has no recipe 'lazy'. It has crossing, expert.",
        ),
        (
            {"rendering": "fast"},
            WorldError,
            "tworoom cannot be rendered 'fast'. It can be rendered stock.",
        ),
    ],
)
def test_wrong_settings_are_told_before_anything_is_written(
    tworoom, tmp_path, wrong, error, message
):
    """In one line."""
    with pytest.raises(error, match=f"^{re.escape(message)}$") as caught:
        record(tworoom, tmp_path / "x.h5", **SMALL | wrong)
    assert isinstance(caught.value, MetroError)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there_is_told(tworoom, tmp_path):
    """Before an hour of recording."""
    message = f"The folder {tmp_path / 'no'} does not exist. Make it first."
    with pytest.raises(StorageError, match=f"^{re.escape(message)}$"):
        record(tworoom, tmp_path / "no" / "x.h5", **SMALL)


def test_swm_reads_it_and_evaluates_on_it(corpus, tworoom):
    """Its own reader and its own World, with a random policy."""
    import warnings

    swm = import_swm()
    dataset = swm.data.load_dataset(str(corpus))
    np.testing.assert_array_equal(dataset.lengths, [13] * 5)
    assert dataset.load_episode(0)["pixels"].shape == (13, 3, 32, 32)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="gymnasium")  # what it says of swm's
        warnings.filterwarnings("ignore", message=".*Gym.*|.*WARN.*")
        world = swm.World("swm/TwoRoom-v1", num_envs=2, image_shape=(32, 32))
        world.set_policy(swm.policy.RandomPolicy(seed=0))
        outcome = world.evaluate(
            dataset=dataset,
            episodes_idx=[0, 3],
            start_steps=[0, 2],
            goal_offset=1,  # at most five pixels away: solved by any first step
            eval_budget=3,
            callables=evaluation_calls(tworoom),
        )
        world.close()
    dataset.h5_file.close()
    np.testing.assert_array_equal(outcome["episode_successes"], [True, True])


def test_reacher_is_the_same_by_one_and_by_two(tmp_path):
    """Physics and pictures of MuJoCo too, whoever draws them."""
    reacher = load_benchmark("reacher")
    settings = {"episodes": 2, "steps": 8, "image_size": 32, "rendering": "fast"}
    for count in (1, 2):
        record(reacher, tmp_path / f"{count}.h5", **settings, workers=count)
    assert (tmp_path / "1.h5").read_bytes() == (tmp_path / "2.h5").read_bytes()


def test_settings_are_written_down(corpus):
    """What is needed to record it again, renderer and versions too."""
    import json

    with h5py.File(corpus) as file:
        settings = json.loads(file.attrs["metro"])
    versions = settings.pop("versions")
    assert versions["stable-worldmodel"]
    assert settings == {
        "benchmark": "tworoom",
        "episodes": 5,
        "image_size": 32,
        "recipe": "crossing",
        "renderer": "software (the environment draws by itself)",
        "rendering": "stock",
        "seed": 0,
        "steps": 12,
    }


def test_an_interruption_while_assembling_leaves_no_file(
    tworoom, tmp_path, monkeypatch
):
    """And all episodes."""

    def interrupt(*arguments, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(assembly, "write_corpus", interrupt)
    with pytest.raises(KeyboardInterrupt):
        record(tworoom, tmp_path / "x.h5", **SMALL)
    assert os.listdir(tmp_path) == [".x.h5.partial"]
    assert len(list(tmp_path.glob(".x.h5.partial/episode-*.npz"))) == 5


def test_another_processor_records_the_same(tmp_path):
    """Contacts make other trajectories of a last bit that a wide kernel rounds."""
    script = """
import sys
from metro.benchmark import load_benchmark
from metro.envs.cpu_determinism import is_common
from metro.data.collect.record import record
print(is_common())
if __name__ == "__main__":
    record(load_benchmark("cube"), sys.argv[1], episodes=1, steps=60, image_size=32,
           rendering="fast", recipe="expert")
"""
    path = tmp_path / "script.py"
    path.write_text(script.lstrip())
    known = dict(os.environ) | {"MUJOCO_GL": "egl"}
    plain = known | common_arithmetic()
    own = {name: known[name] for name in known.keys() - common_arithmetic().keys()}
    for name, environment in (("own", own), ("plain", plain)):
        arguments = [sys.executable, path, tmp_path / f"{name}.h5"]
        told = subprocess.run(
            arguments, env=environment, check=True, capture_output=True, text=True
        )
        assert told.stdout.startswith(str(name == "plain" or not common_arithmetic()))
    assert (tmp_path / "own.h5").read_bytes() == (tmp_path / "plain.h5").read_bytes()

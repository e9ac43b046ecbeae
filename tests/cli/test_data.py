"""The verbs on recordings: what they print, and what they refuse."""

import json
import shutil

import h5py
import pytest
from format_makers import lerobot
from typer.testing import CliRunner

import metro
from metro.cli import app
from metro.data.corpus import open_corpus
from metro.errors import StorageError


def run(*words):
    """Run a verb in this process."""
    return CliRunner().invoke(app, [*map(str, words)])


def record(path, *words):
    """Record one short episode of TwoRoom."""
    small = "--episodes 1 --steps 3 --image-size 32 --workers 1".split()
    return run("record", "tworoom", "-o", path, *small, *words)


def test_recording_says_what_was_written(tmp_path):
    """The last line has the file, the number of episodes and the benchmark."""
    found = record(tmp_path / "a.h5")
    assert found.stdout == f"{tmp_path / 'a.h5'}: 1 episodes of tworoom.\n"
    assert (tmp_path / "a.h5").is_file()


def test_a_file_is_not_replaced_without_force(tmp_path):
    """What is there stays as it is, and the error says so."""
    (tmp_path / "a.h5").write_bytes(b"mine")
    found = record(tmp_path / "a.h5")
    assert isinstance(found.exception, StorageError)
    assert (tmp_path / "a.h5").read_bytes() == b"mine"


def test_a_corpus_tells_what_it_holds(tworoom_folder):
    """As JSON it is what the library says; as a table it has the same figures."""
    path = tworoom_folder / "tworoom.h5"
    told = json.loads(run("corpus", path, "--json").stdout)
    with open_corpus(path) as recording:
        assert told["digest"] == recording.digest
        assert told["frames"] == recording.num_frames
        assert told["columns"] == recording.columns
    shown = run("corpus", path).stdout
    assert told["digest"][:40] in shown
    assert "benchmark tworoom" in shown


def test_one_changed_pixel_is_seen_when_all_frames_are_read(tworoom_folder, tmp_path):
    """The usual digest has the first frames of some episodes; --frames has all."""
    path = tmp_path / "a.h5"
    shutil.copyfile(tworoom_folder / "tworoom.h5", path)
    before = json.loads(run("corpus", path, "--frames", "--json").stdout)
    with h5py.File(path, "r+") as file:
        file["pixels"][3, 5, 5, 1] ^= 1
    after = json.loads(run("corpus", path, "--frames", "--json").stdout)
    assert after.pop("digest of all frames") != before.pop("digest of all frames")
    assert after == before


def test_encoding_says_how_much_and_how_fast(tworoom_folder, tmp_path):
    """The line has the frames and dimensions of the latents that were written."""
    corpus, output = tworoom_folder / "tworoom.h5", tmp_path / "a.latents"
    model = "lewm-small-tworoom"
    found = run("encode", corpus, "--model", model, "-o", output, "--device", "cpu")
    latents = metro.load(output)
    told = f"{output}: {latents.num_frames} latents of {latents.dim} numbers, "
    assert found.stdout.startswith(told)
    assert " frames/s on cpu" in found.stdout


@pytest.mark.parametrize("verb", ["record", "encode"])
def test_an_output_must_be_named(verb, tworoom_folder):
    """Nothing is written to a place that nobody chose."""
    asked = ["tworoom"]
    if verb == "encode":
        asked = [tworoom_folder / "tworoom.h5", "--model", "x"]
    found = run(verb, *asked)
    assert found.exit_code == 2
    assert "--output" in found.output


def test_a_recording_of_others_is_inspected_and_converted(tmp_path, monkeypatch):
    """The command that inspect prints is run as it is, and then the next one."""
    monkeypatch.chdir(tmp_path)
    place = lerobot(tmp_path)
    facts = json.loads(run("inspect", place, "--json").stdout)
    assert facts["format"] == "LeRobot v3.0"
    assert "LeRobot v3.0" in run("inspect", place).stdout
    assert facts["next"] == f"metro convert {place} dataset.h5"
    found = run(*facts["next"].split()[1:])
    assert found.stdout == (
        "dataset.h5: 3 episodes, 36 frames. Next: metro inspect dataset.h5\n"
    )
    facts = json.loads(run("inspect", "dataset.h5", "--json").stdout)
    assert facts["next"] == "metro encode dataset.h5 --model MODEL -o dataset.latents"
    assert isinstance(run("convert", place, "dataset.h5").exception, StorageError)
    assert run("convert", place, "dataset.h5", "--force").exit_code == 0


def test_inspect_says_what_is_not_there(tmp_path, monkeypatch):
    """A graph and a recording each in its way; the internet is not asked."""
    monkeypatch.setenv("STABLEWM_HOME", str(tmp_path))
    for name in ("a.metro", "runs/a", "a.h5"):
        assert "does not exist" in str(run("inspect", name).exception)

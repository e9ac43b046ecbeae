"""The verbs record and encode: what they print, and what they refuse."""

import pytest
from typer.testing import CliRunner

import metro
from metro.cli import app
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
def test_an_output_must_be_named(verb):
    """Nothing is written to a place that nobody chose."""
    found = run(verb, "tworoom", *(["--model", "x"] if verb == "encode" else []))
    assert found.exit_code == 2
    assert "--output" in found.output

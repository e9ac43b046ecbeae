"""The packed form of rows: every header once, and the same rows back."""

import gzip
import json
import os

import pytest

from metro.errors import BenchmarkError
from metro.evaluation.packing import Unpacker, pack, parse_line, read_content


def a_row(number, **more):
    """Return a row as `metro evaluate` writes it, in short."""
    model = {"name": "small", "digest": "abc"}
    return {"model": model, "frames_to_success": number, **more}


def test_a_packed_file_writes_every_header_once():
    """A header that comes back is told by its number; the last header is empty."""
    rows = [a_row(0), a_row(1, benchmark="cube"), a_row(2)]
    lines = [json.loads(line) for line in gzip.decompress(pack(rows)).splitlines()]
    headers = [line["header"] for line in lines if "header" in line]
    model = {"name": "small", "digest": "abc"}
    assert headers == [{"model": model}, {"model": model, "benchmark": "cube"}, 0, {}]
    assert all("model" not in line for line in lines)


def test_packing_the_same_rows_gives_the_same_bytes():
    """No time of day and no file name is in a packed file."""
    assert pack([a_row(0), a_row(1)]) == pack([a_row(0), a_row(1)])


def test_lines_without_header_are_whole_rows():
    """A plain file is read by the same code."""
    unpacker = Unpacker()
    assert unpacker.take({"b": 1, "a": 2}) == {"b": 1, "a": 2}
    assert unpacker.take({"header": {"model": None}}) is None
    assert unpacker.take({"b": 1}) == {"b": 1, "model": None}
    assert unpacker.take({"header": {}}) is None
    assert unpacker.take({"b": 1}) == {"b": 1}


@pytest.mark.parametrize("number", [1, -1, "0", None])
def test_a_header_that_was_never_written_is_an_error(number):
    """Only headers that came before can be returned to."""
    unpacker = Unpacker()
    unpacker.take({"header": {"model": None}})
    with pytest.raises(ValueError, match=f"^there is no header {number}$"):
        unpacker.take({"header": number})


def test_deep_json_and_headers_that_are_no_numbers_are_no_rows():
    """Both are ValueErrors, as any other damage of a line."""
    with pytest.raises(ValueError, match="too deeply"):
        parse_line(b'{"a":' * 20_000)
    unpacker = Unpacker()
    unpacker.take({"header": {}})
    for number in (0.0, False):
        with pytest.raises(ValueError, match="no header"):
            unpacker.take({"header": number})


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_a_pipe_is_refused_at_once(tmp_path, name):
    """Reading it would wait for ever."""
    os.mkfifo(tmp_path / name)
    with pytest.raises(BenchmarkError, match="is a pipe"):
        read_content(tmp_path / name)

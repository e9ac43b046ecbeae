"""Rows on disk: appended, read, packed; and what makes two rows answer one question."""

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from metro.errors import BenchmarkError
from metro.evaluation.packing import pack
from metro.evaluation.queries import Query
from metro.evaluation.records import (
    Setting,
    append_records,
    by_key,
    find_record_files,
    pack_records,
    read_records,
    record_name,
    require_writable,
    run_key,
    to_json,
)

RESULTS = Path(__file__).parents[2] / "results"
COMMITTED_ROWS = 40_497


def a_row(number, **more):
    """Return a row as `metro evaluate` writes it, in short."""
    return {
        "model": {"name": "small", "digest": "abc"},
        "query": {"episode": number, "start": 0, "goal": 25},
        "frames_to_success": number,
        **more,
    }


def test_rows_are_not_appended_to_a_pipe(tmp_path):
    """Opening one would wait for a reader, perhaps for ever."""
    os.mkfifo(tmp_path / "rows.jsonl")
    with pytest.raises(BenchmarkError, match=r"rows.jsonl is a pipe"):
        append_records([{"a": 1}], tmp_path / "rows.jsonl")


def test_a_method_has_its_own_options():
    assert Setting("hi-lewm", 2, None, 50, 7, 1, "box").option == "box"
    with pytest.raises(BenchmarkError, match=r"flat has no option 'box'"):
        Setting("flat", 2, None, 50, 7, option="box")
    with pytest.raises(BenchmarkError, match=r"hi-lewm-c has no option 'box'"):
        Setting("hi-lewm-c", 2, None, 50, 7, 1, "box")


def test_a_torn_line_is_mended_before_rows_are_appended(tmp_path):
    """A whole last line is ended, half a line dropped, anything else left alone."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}')
    append_records([{"a": 3}], path)
    assert [row["a"] for row in read_records(path)] == [1, 2, 3]
    path.write_text('{"a": 1}\n{"a": ')
    append_records([{"a": 3}], path)
    assert [row["a"] for row in read_records(path)] == [1, 3]
    for text in (b"notes of mine", b"\x89HDF\r\n\x1a\n\x00\xff", b'{"a": 1}\nnotes'):
        path.write_bytes(text)
        with pytest.raises(BenchmarkError, match=r"[Ll]ine .*of .* is not a row"):
            append_records([{"a": 3}], path)
        assert path.read_bytes() == text


@pytest.mark.parametrize("size", [1, (1 << 16) - 12, 1 << 16, 200_000])
def test_a_torn_line_of_any_length_is_found(tmp_path, size):
    """The last line is looked for in blocks, and may be longer than one of them."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\n{"a": "' + size * "x")
    append_records([{"a": 3}], path)
    assert read_records(path) == [{"a": 1}, {"a": 3}]


def test_a_kill_after_any_byte_loses_one_row_at_most(tmp_path):
    """Wherever a file is cut, whole rows are read, and appending resumes after them."""
    path = tmp_path / "rows.jsonl"
    append_records([a_row(0), a_row(1)], path)
    whole = path.read_bytes()
    first = whole.index(b"\n")
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        expected = [a_row(0)] * (length >= first) + [a_row(1)] * (
            length >= len(whole) - 1
        )
        assert read_records(path) == expected
        append_records([a_row(2)], path)
        assert read_records(path) == [*expected, a_row(2)]


def test_appending_reads_the_end_of_the_file_only(tmp_path):
    """What lies before the last line is neither read nor parsed."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": 1}\nnot a row\n' + json.dumps({"b": 70_000 * "x"}) + "\n")
    append_records([{"a": 3}], path)
    assert path.read_text().endswith('\n{"a": 3}\n')


def test_packed_rows_are_the_rows(tmp_path):
    """Same dicts, same order, same order of keys; also where headers alternate."""
    path = tmp_path / "rows.jsonl"
    other = {"model": None, "versions": {"commit": "c"}}
    rows = [a_row(0), a_row(1, **other), a_row(2), {"a": 1}, a_row(3, **other)]
    append_records(rows, path)
    plain = read_records(path)
    packed = pack_records(path)
    assert (packed.name, path.exists()) == ("rows.jsonl.gz", False)
    assert read_records(packed) == rows
    assert [list(row) for row in read_records(packed)] == [list(row) for row in plain]


def test_rows_are_appended_after_gunzip(tmp_path):
    """An unpacked file is a file of rows: what it shares does not reach new rows."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(gzip.decompress(pack([a_row(0)])))
    append_records([{"a": 1}], path)
    assert read_records(path) == [a_row(0), {"a": 1}]
    assert read_records(pack_records(path)) == [a_row(0), {"a": 1}]


def test_packed_files_are_not_appended_to(tmp_path):
    """Neither under their own name, nor beside them; the error says what to do."""
    path = tmp_path / "rows.jsonl"
    append_records([a_row(0)], path)
    packed = pack_records(path)
    message = (
        f"{packed} is packed, and rows are appended to plain files only. Unpack it "
        f"first: gunzip {packed}"
    )
    for name in (path, packed):
        for write in (require_writable, lambda name: append_records([a_row(1)], name)):
            with pytest.raises(BenchmarkError, match=f"^{re.escape(message)}$"):
                write(name)
    assert read_records(packed) == [a_row(0)]


def test_packing_overwrites_nothing(tmp_path):
    """A packed file that is there, or a file without rows, is refused."""
    path = tmp_path / "rows.jsonl"
    path.write_text("")
    with pytest.raises(BenchmarkError, match=r"rows.jsonl has no rows to pack\.$"):
        pack_records(path)
    path.write_text('{"a": 1}\n')
    (tmp_path / "rows.jsonl.gz").write_bytes(b"")
    with pytest.raises(BenchmarkError, match=r"rows.jsonl.gz exists already\."):
        pack_records(path)
    assert read_records(path) == [{"a": 1}]


def test_a_damaged_packed_file_is_an_error(tmp_path):
    """Cut short, not gzip at all, or with a header that was never written."""
    path = tmp_path / "rows.jsonl.gz"
    for content in (pack([a_row(0)])[:-9], b"notes of mine"):
        path.write_bytes(content)
        with pytest.raises(BenchmarkError, match=r"cannot be read: .* Restore it"):
            read_records(path)
    path.write_bytes(gzip.compress(b'{"header": 3}\n{"a": 1}\n'))
    with pytest.raises(BenchmarkError, match=r"Line 1 of .* is not a row"):
        read_records(path)


def test_folders_have_plain_and_packed_files(tmp_path):
    """Both are found, sorted by name; a name is told without its endings."""
    for name in ("b.jsonl", "a.jsonl.gz", "notes.md", "c.jsonl.gz"):
        (tmp_path / name).write_bytes(b"")
    found = find_record_files(tmp_path)
    assert [file.name for file in found] == ["a.jsonl.gz", "b.jsonl", "c.jsonl.gz"]
    assert [record_name(file) for file in found] == ["a", "b", "c"]


def test_the_committed_rows_are_all_there():
    """All rows of all commits are read; packing them again gives the same rows."""
    files = sorted(RESULTS.rglob("*.jsonl.gz"))
    rows = {file: read_records(file) for file in files}
    assert sum(map(len, rows.values())) == COMMITTED_ROWS
    size = sum(file.stat().st_size for file in files)
    assert size < 650_000
    small = RESULTS / "studies" / "residual.jsonl.gz"
    assert pack(rows[small]) == small.read_bytes()


def test_macro_steps_have_a_range():
    with pytest.raises(BenchmarkError, match=r"macro_steps must be 1 to"):
        Setting("hi-lewm", 2, None, 50, 7, 0)


def test_graphs_and_query_files_are_part_of_the_question():
    """Another k or α is another graph; rows that do not tell have the usual ones."""
    old = {"graph": "g", "queries": {"digest": "q"}}
    usual = {"num_neighbours": 4, "quantile": 0.25}
    assert run_key(old) == run_key(old | {"graph_options": usual})
    for name, value in (("num_neighbours", 1), ("quantile", 0.9)):
        assert run_key(old) != run_key(old | {"graph_options": usual | {name: value}})
    assert run_key(old) != run_key(old | {"queries": {"digest": "r"}})


def test_a_file_that_cannot_be_written_is_told_first(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BenchmarkError, match="rows.jsonl cannot be written"):
        require_writable(tmp_path / "notes.txt" / "rows.jsonl")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_rows_of_all_commits_have_one_schema():
    """Settings and queries of old rows are those of today; what was added may lack."""
    required = {"benchmark", "corpus", "error", "frames_to_success", "graph"}
    required |= {"is_presolved", "kinds", "model", "query", "seconds", "setting"}
    required |= {"versions", "rendering", "queries", "tags", "batch"}
    later = {"demonstration_frames", "device", "graph_options", "macro", "processor"}
    later |= {"renderer", "trained_on_corpus"}
    for file in find_record_files(RESULTS):
        for row in read_records(file):
            assert required <= row.keys() <= required | later
            setting, query = Setting(**row["setting"]), Query(**row["query"])
            assert to_json(setting, query) == {
                "setting": row["setting"],
                "query": row["query"],
            }


@pytest.mark.parametrize(
    "row",
    [{}, {"model": 3, "error": None}, {"query": {}, "model": {"digest": "a"}}],
)
def test_rows_of_something_else_do_not_resume_a_run(row):
    """Files are edited by hand: one line says which row it is."""
    with pytest.raises(BenchmarkError, match="^This is not a row of this kind"):
        by_key([row], run_key, ["frames_to_success"])


def test_rows_are_found_by_what_they_answer():
    """The last of equal ones counts."""
    rows = [{"benchmark": "a", "n": 1}, {"benchmark": "a", "n": 2}]
    assert by_key(rows, run_key, ["n"]) == {run_key(rows[0]): rows[1]}

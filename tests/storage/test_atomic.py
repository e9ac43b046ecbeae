"""Writing: whole or not at all, nothing lost, nothing of anybody else replaced."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from artefacts import rewrite_manifest, same_graph

import metro
from metro.errors import StorageError
from metro.storage import arrays as _arrays
from metro.storage import atomic as _places
from metro.storage.atomic import write_atomically


def test_nothing_is_overwritten_without_force(saved, rooms_graph):
    """And nothing but an artefact of ours even with it."""
    message = f"{saved} exists already. Replace it with force=True (--force)."
    with pytest.raises(StorageError, match=f"^{re.escape(message)}$"):
        metro.save(rooms_graph, saved)
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(StorageError, match="holds notes.txt, which metro did not wri"):
        metro.save(rooms_graph, saved, force=True)
    assert (saved / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"manifest.json": '{"name": "a web page"}', "z.npy": ""}, "is not a metro"),
        ({"manifest.json": "[1]"}, "is not a metro artefact"),
        ({"manifest.json": "{", "mine.npy": ""}, "holds mine.npy, which metro did not"),
        ({"manifest.json": "{", ".DS_Store": ""}, "holds .DS_Store, which metro did"),
        ({"z.npy": ""}, "is not a metro artefact"),
        ({}, "is not a metro artefact"),
    ],
)
def test_force_replaces_only_what_metro_wrote(tmp_path, rooms, files, message):
    """A manifest of somebody else, or one file more than ours."""
    (tmp_path / "a").mkdir()
    for name, text in files.items():
        (tmp_path / "a" / name).write_text(text)
    with pytest.raises(StorageError, match=re.escape(message)):
        metro.save(rooms, tmp_path / "a", force=True)
    assert {file.name for file in (tmp_path / "a").iterdir()} == set(files)


def test_force_replaces_a_newer_format(saved, rooms_graph):
    """Its manifest names arrays that we do not know."""
    arrays = json.loads((saved / "manifest.json").read_text())["arrays"]
    rewrite_manifest(saved, version=2, arrays={**arrays, "novel": arrays["z"]})
    (saved / "novel.npy").write_bytes(b"")
    metro.save(rooms_graph, saved, force=True)
    assert same_graph(metro.load(saved), rooms_graph)


def test_a_link_stays_a_link(saved, tmp_path, rooms, rooms_graph):
    """What it points to is replaced, also when nothing is there yet."""
    link = tmp_path / "link.metro"
    link.symlink_to(saved)
    with pytest.raises(StorageError, match="exists already"):
        metro.save(rooms, link)
    metro.save(rooms, link, force=True)
    assert link.is_symlink()
    assert metro.load(saved).digest == rooms.digest
    saved.rename(tmp_path / "away")
    metro.save(rooms_graph, link, force=True)
    assert same_graph(metro.load(link), metro.load(saved))


def test_force_replaces_a_damaged_artefact(saved, rooms_graph):
    """The cure that error messages name must work."""
    (saved / "manifest.json").write_text("{")
    metro.save(rooms_graph, saved, force=True)
    assert same_graph(metro.load(saved), rooms_graph)


def test_not_enough_disk(monkeypatch, tmp_path, rooms_graph):
    """Said before anything is written."""
    monkeypatch.setattr(
        _arrays.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})
    )
    with pytest.raises(StorageError, match=r"^Not enough disk for .*Nothing was"):
        metro.save(rooms_graph, tmp_path / "a.metro")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_write_leaves_nothing(monkeypatch, tmp_path, rooms_graph):
    """A disk that fills up during the write: one error, no remains."""

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_arrays.os, "fsync", full)
    with pytest.raises(StorageError, match="was not written: .*No space left"):
        metro.save(rooms_graph, tmp_path / "a.metro")
    assert list(tmp_path.iterdir()) == []


WRITER = """
import sys, numpy as np, metro
path, rows = sys.argv[1], int(sys.argv[2])
small, large = (
    metro.Latents(np.full((n, 64), n, dtype=np.float32), [0, n]) for n in (rows, rows+1)
)
print("ready", flush=True)
while True:
    metro.save(small, path, force=True)
    metro.save(large, path, force=True)
"""


def test_kill_at_any_moment_leaves_a_whole_artefact(tmp_path):
    """A writer killed again and again: what is on disk is one version or the other."""
    path, rows = tmp_path / "a.latents", 3000
    metro.save(metro.Latents(np.full((rows, 64), rows), [0, rows]), path)
    rng = np.random.default_rng(0)
    for _ in range(25):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(rows)],
            stdout=subprocess.PIPE,
        )
        writer.stdout.readline()
        time.sleep(rng.uniform(0, 0.05))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        latents = metro.load(path, verify=True)
        assert latents.num_frames in (rows, rows + 1)
        assert (latents.z == latents.num_frames).all()
    metro.save(latents, path, force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["a.latents"]


EVERY_CALL = """
import os, shutil, signal, sys, numpy as np, metro
path = sys.argv[1]
old, new = (metro.Latents(np.full((9, 4), n), [0, 9]) for n in (0, 1))
cut_short = 0

def killed_before(call):
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] != 0
    calls = iter(range(call))
    def count(event, _):
        ours = event.startswith(("os.", "open", "shutil.")) and event != "os.kill"
        if ours and next(calls, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)
    metro.save(new, path, force=True)
    os._exit(0)

for call in range(10_000):
    metro.save(old, path, force=True)
    killed = killed_before(call)
    found = metro.load(path, verify=True).z
    assert (found == found[0, 0]).all()
    if not killed:
        break
    if not os.path.exists(path):
        cut_short += 1
        continue
    shutil.rmtree(path)
    try:
        metro.load(path)
        sys.exit(f"killed before call {call}, what was deleted came back")
    except metro.MetroError:
        pass
print(call, cut_short, os.listdir(os.path.dirname(path)))
"""


def test_kill_before_every_call(tmp_path):
    """A writer killed before each of its calls to the system in turn.

    What is read is the old or the new artefact; once deleted, it stays deleted.
    """
    path = tmp_path / "a.latents"
    ran = subprocess.run(
        [sys.executable, "-c", EVERY_CALL, str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    calls, cut_short, left = ran.stdout.split(maxsplit=2)
    assert int(calls) > 20
    assert int(cut_short) >= 1
    assert left.strip() == "['a.latents']"


def make_leftovers(folder):
    """Make what killed writers leave whose numbers or machines live on."""
    for who in (f"{socket.gethostname()}.{os.getpid()}", "elsewhere.1", "box.999999"):
        (folder / f".rooms.metro.{who}.x").mkdir()
        (folder / f".rooms.metro.{who}.y.old").mkdir()


def test_leftovers_of_dead_writers_are_removed(saved, tmp_path, rooms_graph):
    """Of a recycled process number, of pid 1 in a container, of another machine."""
    make_leftovers(tmp_path)
    metro.save(rooms_graph, saved, force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["rooms.metro"]


def test_writers_at_work_are_left_alone(saved, tmp_path, rooms_graph):
    """While one fills its directory, another one saves, with a number like its own."""
    with _places.replacement(saved, force=True) as mine:
        metro.save(rooms_graph, saved, force=True)
        assert mine.is_dir()
        shutil.copytree(saved, mine, dirs_exist_ok=True)
    assert same_graph(metro.load(saved), rooms_graph)
    assert [file.name for file in tmp_path.iterdir()] == ["rooms.metro"]


def test_without_locks_a_day_or_the_process_number_decides(
    monkeypatch, saved, tmp_path, rooms_graph
):
    """A network file system that locks no directories."""
    monkeypatch.setattr(_places, "try_lock", lambda *_: None)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    host = socket.gethostname()
    names = [f"{host}.{pid}.x" for pid in (dead.pid, os.getpid(), 1)]
    for name in (*names, "elsewhere.1.x", "elsewhere.1.y"):
        (tmp_path / f".rooms.metro.{name}").mkdir()
    os.utime(tmp_path / ".rooms.metro.elsewhere.1.y", (0, 0))
    metro.save(rooms_graph, saved, force=True)
    kept = {file.name for file in tmp_path.iterdir()} - {"rooms.metro"}
    assert kept == {f".rooms.metro.{name}" for name in (*names[1:], "elsewhere.1.x")}


def cut_short(path, rooms):
    """Leave what a writer leaves that is killed between its two renames."""
    new = path.with_name(f".{path.name}.elsewhere.1.x")
    metro.save(rooms, new)
    path.rename(new.with_name(f"{new.name}.old"))
    return new


def test_killed_between_the_two_renames(saved, tmp_path, rooms, rooms_graph):
    """The old artefact is read where it lies, protected, and replaced by force."""
    cut_short(saved, rooms)
    assert same_graph(metro.load(saved, verify=True), rooms_graph)
    with pytest.raises(StorageError, match="exists already"):
        metro.save(rooms_graph, saved)
    metro.save(rooms, saved, force=True)
    assert metro.load(saved).digest == rooms.digest
    assert not list(tmp_path.glob("*.old"))


def test_what_was_deleted_stays_deleted(saved, tmp_path, rooms):
    """A writer killed before it removed the old artefact: nothing to go back to."""
    cut_short(saved, rooms).rename(saved)
    metro.load(saved)
    shutil.rmtree(saved)
    with pytest.raises(StorageError, match="does not exist"):
        metro.load(saved)
    metro.save(rooms, saved)
    other = tmp_path / "other.metro"
    metro.save(rooms, other)
    half = cut_short(other, rooms)  # a new directory that was never complete
    (half / "manifest.json").unlink()
    with pytest.raises(StorageError, match="does not exist"):
        metro.load(other)


def test_interrupted_between_the_two_renames(monkeypatch, saved, tmp_path, rooms_graph):
    """Ctrl-C or an error at that moment puts the old artefact back."""
    rename = Path.rename

    def interrupted(source, target):
        if target == saved and not source.name.endswith(".old"):
            raise KeyboardInterrupt
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        metro.save(rooms_graph.latents, saved, force=True)
    assert same_graph(metro.load(saved), rooms_graph)
    assert [file.name for file in tmp_path.iterdir()] == ["rooms.metro"]


def test_names_that_begin_alike(tmp_path, rooms):
    """What belongs to a.b is never taken for what belongs to a."""
    metro.save(rooms, tmp_path / "a.b")
    cut_short(tmp_path / "a.b", rooms)
    assert _places.find(tmp_path / "a") is None
    assert _places.find(tmp_path / "a.b") is not None


ALTERNATING = """
import sys, numpy as np, metro
zero, one = (metro.Latents(np.full((50, 8), n), [0, 25, 50]) for n in (0, 1))
print("ready", flush=True)
while True:
    metro.save(zero, sys.argv[1], force=True)
    metro.save(one, sys.argv[1], force=True)
"""


def test_a_load_is_never_of_two_artefacts(tmp_path):
    """While a writer replaces it again and again, every load is one or the other."""
    path = tmp_path / "a.latents"
    metro.save(metro.Latents(np.zeros((50, 8)), [0, 25, 50]), path)
    writer = subprocess.Popen(
        [sys.executable, "-c", ALTERNATING, str(path)], stdout=subprocess.PIPE
    )
    try:
        writer.stdout.readline()
        seen = []
        while len(seen) < 400 or len(set(seen)) < 2:
            latents = metro.load(path, verify=len(seen) % 2 == 0)
            seen.append(latents.z[0, 0])
            assert (latents.z == seen[-1]).all()
            trusted = metro.Latents(latents.z, latents.episode_offsets)
            assert trusted.digest == latents.digest
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.communicate()


def test_places_that_cannot_be(tmp_path, rooms):
    """The parent is a file, the name is too long, a link leads to itself."""
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("file/a.latents", "file/deep/a.latents", "x" * 300, "loop"):
        with pytest.raises(StorageError, match="^[^\n]*$"):
            metro.save(rooms, tmp_path / name, force=True)
        with pytest.raises(StorageError, match="^[^\n]*$"):
            metro.load(tmp_path / name)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "loop"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_places_without_permission(tmp_path, rooms):
    """A folder that is not ours."""
    (tmp_path / "theirs").mkdir(mode=0o500)
    with pytest.raises(StorageError, match="Permission denied"):
        metro.save(rooms, tmp_path / "theirs" / "a.latents")


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    """From bytes or by a function; a failing one leaves the old file alone."""
    path = tmp_path / "notes.txt"
    write_atomically(path, b"one")
    assert path.read_bytes() == b"one"

    def fail(place):
        place.write_bytes(b"half")
        assert path.read_bytes() == b"one"
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        write_atomically(path, fail)
    assert path.read_bytes() == b"one"
    write_atomically(path, lambda place: place.write_bytes(b"two"))
    assert path.read_bytes() == b"two"
    assert os.listdir(path.parent) == ["notes.txt"]


def test_what_a_killed_writer_left_is_overwritten(tmp_path):
    """Leftovers do not pile up."""
    path = tmp_path / "notes.txt"
    (tmp_path / "notes.txt.unfinished").write_bytes(b"half of something long")
    write_atomically(path, b"one")
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"one", ["notes.txt"])


def test_a_file_needs_its_folder(tmp_path):
    """A mistyped folder is an error, not a new folder."""
    with pytest.raises(FileNotFoundError, match=r"notes\.txt"):
        write_atomically(tmp_path / "missing" / "notes.txt", b"one")
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_lies_in_the_place_of_an_unfinished_file_is_not_written_into(
    tmp_path, kind
):
    """A link would lead to another file, a pipe would wait."""
    other = tmp_path / "mine"
    other.write_text("mine")
    unfinished = tmp_path / "a.unfinished"
    os.mkfifo(unfinished) if kind == "pipe" else unfinished.symlink_to(other)
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert other.read_text() == "mine"
    assert sorted(os.listdir(tmp_path)) == ["a", "mine"]

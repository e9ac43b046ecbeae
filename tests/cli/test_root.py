"""The command line, as a person uses it: real processes, real files."""

import io
import json
import signal
import subprocess
import sys
import time
from itertools import pairwise

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import metro
from metro.cli import app
from metro.cli import terminal as display


def run(*arguments, cwd=None):
    """Run metro in a process of its own."""
    command = [sys.executable, "-c", "from metro.cli import main; main()"]
    return subprocess.run(
        [*command, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "120"},
        check=False,
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory, rooms):
    """A folder with latents and a graph built from them by the command line."""
    folder = tmp_path_factory.mktemp("files")
    np.savez(folder / "rooms.npz", z=rooms.z, episode_lengths=rooms.episode_lengths)
    built = run("build", "rooms.npz", "-o", "rooms.metro", cwd=folder)
    assert built.returncode == 0, built.stderr
    assert built.stdout.startswith("rooms.metro: 1800 frames of 30 episodes, ")
    return folder


def test_build_equals_the_library(files, rooms_graph):
    """The verb and the twelve lines give the same graph."""
    graph = metro.load(files / "rooms.metro", verify=True)
    np.testing.assert_array_equal(graph.bridge_cost, rooms_graph.bridge_cost)
    assert graph.waypoint_budget == 8


def test_build_from_rows_and_lengths(files, rooms):
    """A plain .npy with one length for all, other H, k and quantile."""
    np.save(files / "rows.npy", rooms.z)
    options = "--episode-lengths 60 --waypoint-budget 5 --num-neighbours 2"
    built = run(
        *f"build rows.npy -o b.metro {options} --quantile 0.5".split(), cwd=files
    )
    assert built.returncode == 0, built.stderr
    graph = metro.load(files / "b.metro")
    assert (graph.waypoint_budget, graph.num_neighbours) == (5, 2)
    assert graph.pricing.quantile == 0.5


def test_inspect_tells_the_figures(files):
    """As a table and as JSON."""
    shown = run("inspect", "rooms.metro", "--verify", cwd=files)
    for word in ("1,800 of 24", "30, 60 to 60", "Λ(8)", "components", "saturation"):
        assert word in shown.stdout
    figures = json.loads(run("inspect", "rooms.metro", "--json", cwd=files).stdout)
    assert figures["num_frames"] == 1800
    assert len(figures["pricing_gaps"]) == 8
    assert 0 < figures["joined_pairs"] <= 1


def test_route_is_an_itinerary(files, rooms_graph):
    """Legs add up to J, and every stop is where the next leg starts."""
    rooms = rooms_graph.latents
    asked = "route rooms.metro --from 100 --to 1500 --json".split()
    told = json.loads(run(*asked, cwd=files).stdout)
    routes = metro.find_routes(rooms_graph, rooms.z[1500])
    assert told["cost"] == pytest.approx(routes.cost_to_go[100])
    legs = told["legs"]
    assert legs[0]["start"] == 100
    assert legs[-1]["kind"] == "arrive"
    for leg, following in pairwise(legs):
        assert leg["stop"] == following["start"]
    shown = run("route", "rooms.metro", "--from", 100, "--to", 1500, cwd=files).stdout
    assert shown.startswith("From frame 100 (episode 1, step 40) to frame 1500")
    assert "temporal" in shown
    assert "bridge" in shown


def test_route_with_the_own_episode_held_out(files, rooms_graph):
    """From a frame that is no vertex any more the graph is entered."""
    asked = "route rooms.metro --from 100 --to 1500 --held-out 1".split()
    told = json.loads(run(*asked, "--json", cwd=files).stdout)
    routes = metro.find_routes(rooms_graph, rooms_graph.latents.z[1500], held_out=1)
    sub = metro.MetroPlanner(routes)(rooms_graph.latents.z[100])
    assert told["legs"][0]["kind"] == "enter"
    assert told["cost"] == pytest.approx(sub.cost_to_go)
    assert "enter" in run(*asked, cwd=files).stdout


def test_no_route_is_an_answer(tmp_path):
    """Two rooms without a door: exit 0, no legs, and what to try."""
    line = np.arange(10.0)[:, None]
    np.savez(tmp_path / "a.npz", z=np.concatenate([line, line + 1e3]), ep_len=[10, 10])
    run("build", "a.npz", "-o", "a.metro", "--waypoint-budget", 3, cwd=tmp_path)
    asked = "route a.metro --from 0 --to 19".split()
    shown = run(*asked, cwd=tmp_path)
    assert shown.returncode == 0
    assert "No route: no recorded frames lead there." in shown.stdout
    told = json.loads(run(*asked, "--json", cwd=tmp_path).stdout)
    assert (told["cost"], told["legs"]) == (None, [])
    asked = "route a.metro --from 0 --to 9 --held-out 0".split()
    assert json.loads(run(*asked, "--json", cwd=tmp_path).stdout)["legs"] == []
    shown = run(*asked, cwd=tmp_path).stdout
    assert "No route: episode 0, which the goal is from, is held out" in shown
    assert "budget" not in shown


def test_collapsed_latents_are_called_so(tmp_path):
    """Two episodes of one frame repeated are not one episode."""
    np.savez(tmp_path / "a.npz", z=np.ones((20, 3)), ep_len=[10, 10])
    run("build", "a.npz", "-o", "a.metro", "--waypoint-budget", 3, cwd=tmp_path)
    shown = run("inspect", "a.metro", cwd=tmp_path).stdout
    assert "none: frames of different episodes have a gap of 0" in shown
    assert "one episode" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("build nothing.npz -o a.metro", "metro: nothing.npz does not exist."),
        (
            "build rooms.npz -o rooms.metro",
            "metro: rooms.metro exists already. Replace it with force=True (--force).",
        ),
        (
            "build rooms.npz -o a.metro --waypoint-budget 60",
            "metro: waypoint_budget must be a whole number of frames, at least 1 and "
            "below the longest episode (60 frames), got 60.",
        ),
        (
            "build rooms.npz -o a.metro --num-neighbours 0",
            "metro: num_neighbours must be a whole number of at least 1, got 0.",
        ),
        (
            "build rooms.npz -o a.metro --episode-lengths 7",
            "metro: 1800 rows are no whole number of episodes of 7 frames.",
        ),
        ("inspect nothing.metro", "metro: nothing.metro does not exist."),
        (
            "inspect rooms.latents",
            "metro: rooms.latents holds latents, not a graph. Make one: "
            "metro build rooms.latents -o rooms.metro",
        ),
        (
            "route rooms.metro --from 1800 --to 0",
            "metro: --from must be a frame in [0, 1800), got 1800.",
        ),
        (
            "route rooms.metro --from 0 --to 1 --held-out 30",
            "metro: held_out must be an episode in [0, 30), got 30.",
        ),
    ],
)
def test_errors_are_one_line_and_exit_code_1(files, rooms, arguments, message):
    """No traceback, nothing on stdout, nothing written."""
    if not (files / "rooms.latents").exists():
        metro.save(rooms, files / "rooms.latents")
    failed = run(*arguments.split(), cwd=files)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == message + "\n"
    assert not (files / "a.metro").exists()
    assert not [file for file in files.iterdir() if file.name.startswith(".")]


@pytest.mark.parametrize("arguments", ["", "fly", "build", "route a.metro --from x"])
def test_usage_errors_are_exit_code_2(arguments):
    """A wrong call is told apart from a failing one."""
    assert run(*arguments.split()).returncode == 2


def test_ctrl_c_is_told(tmp_path):
    """A real SIGINT in a real build: exit 130, one line, nothing left behind."""
    rows = np.random.default_rng(0).normal(size=(150_000, 64)).astype(np.float32)
    np.save(tmp_path / "z.npy", rows)
    (tmp_path / "lengths.txt").write_text("100\n" * 1_500)
    command = [sys.executable, "-c", "from metro.cli import main; main()"]
    asked = "build z.npy -o a.metro --episode-lengths lengths.txt".split()
    building = subprocess.Popen(
        command + asked,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # What is written first says that the build has begun.
    while len(list(tmp_path.iterdir())) == 2 and building.poll() is None:
        time.sleep(0.05)
    building.send_signal(signal.SIGINT)
    told = building.communicate(timeout=60)
    assert told == ("", "metro: Interrupted. The same command resumes from here.\n")
    assert building.returncode == 130
    left = {file.name for file in tmp_path.iterdir()} - {".a.metro.partial"}
    assert left == {"z.npy", "lengths.txt"}


def test_ctrl_c_in_process(monkeypatch, capsys, files):
    """The same without a process of its own: typer does not swallow it."""
    import metro.cli as cli

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("metro.storage.artefacts.load_graph", interrupted)
    monkeypatch.setattr(sys, "argv", ["metro", "inspect", str(files / "rooms.metro")])
    with pytest.raises(SystemExit, match="130"):
        cli.main()
    assert capsys.readouterr().err.startswith("metro: Interrupted.")


def test_errors_of_the_system_are_told(monkeypatch, capsys):
    """The last resort for what no verb foresaw: exit 1, one line."""
    from metro.cli import root as cli

    def failing():
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(cli, "app", failing)
    with pytest.raises(SystemExit, match="1"):
        cli.main()
    assert capsys.readouterr().err == "metro: Input/output error\n"


def test_out_of_memory_is_told(monkeypatch):
    """A corpus that does not fit: exit 1, one line."""
    from metro.cli import root as cli

    def exhausted():
        raise MemoryError

    monkeypatch.setattr(cli, "app", exhausted)
    with pytest.raises(SystemExit, match="1"):
        cli.main()


@pytest.mark.parametrize("verb", ["record", "train", "train-macro", "encode", "demo"])
def test_missing_extras_are_told(monkeypatch, capsys, tmp_path, verb):
    """Verbs of worlds and models say what to install, in one line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.h5").touch()
    from importlib import util

    from metro.cli import root as running

    find = util.find_spec
    monkeypatch.setattr(util, "find_spec", lambda n: None if n == "mujoco" else find(n))
    given = {
        "record": ["tworoom", "-o", "a.h5"],
        "train": ["tworoom", "--corpus", "a.h5", "-o", "a.safetensors"],
        "train-macro": [
            *("tworoom", "--corpus", "a.h5", "--latents", "a.latents"),
            *("--model", "b", "-o", "a.safetensors"),
        ],
        "encode": ["a.h5", "--model", "b", "-o", "a.latents"],
        "demo": [],
    }
    monkeypatch.setattr(sys, "argv", ["metro", verb, *given[verb]])
    with pytest.raises(SystemExit, match="1"):
        running.main()
    assert capsys.readouterr().err == (
        f'metro: metro {verb} needs the "swm" extra, mujoco is not there: '
        f'pip install "metro-wm[swm]"\n'
    )


def shown_by_spinner(monkeypatch, seconds, *, terminal):
    stream = io.StringIO()
    monkeypatch.setattr(
        display,
        "Console",
        lambda stderr: Console(
            file=stream, force_terminal=terminal, force_interactive=terminal
        ),
    )
    with display.spinner("Thinking"):
        time.sleep(seconds)
    return stream.getvalue()


def test_spinners_are_for_people_who_wait(monkeypatch):
    """Drawn in a terminal after a second, and nowhere else."""
    assert shown_by_spinner(monkeypatch, 0, terminal=True) == ""
    monkeypatch.setattr(display, "_PATIENCE", 0.01)
    assert "Thinking" in shown_by_spinner(monkeypatch, 0.3, terminal=True)
    assert shown_by_spinner(monkeypatch, 0.1, terminal=False) == ""


def test_version():
    """The version is the package's."""
    shown = CliRunner().invoke(app, ["--version"])
    assert shown.output == f"metro-wm {metro.__version__}\n"


def test_verbs_in_process(files, tmp_path, monkeypatch):
    """The same verbs inside this process, so that coverage sees them."""
    monkeypatch.chdir(tmp_path)
    graph = str(files / "rooms.metro")
    for arguments in (
        ["build", str(files / "rooms.npz"), "-o", "a.metro"],
        ["inspect", graph],
        ["inspect", graph, "--json"],
        ["route", graph, "--from", "3", "--to", "999", "--held-out", "0"],
        ["route", graph, "--from", "3", "--to", "999", "--json"],
    ):
        assert CliRunner().invoke(app, arguments).exit_code == 0
    assert CliRunner().invoke(app, []).exit_code == 2


def seconds(code):
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def test_starting_is_fast():
    """Importing metro takes at most 3 times importing NumPy, asking for help 4."""
    help_ = (
        "import sys; sys.argv = ['metro', '--help']; from metro.cli import app; app()"
    )
    numpy, package, helped = (
        min(seconds(code) for _ in range(5))
        for code in ("import numpy", "import metro", help_)
    )
    assert package < 3 * numpy
    assert helped < 0.5 or helped < 4 * numpy

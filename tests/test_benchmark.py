"""The four TOML files, and what is said about a bad one."""

import re
import shutil

import pytest

from metro import benchmark as module
from metro.benchmark import (
    benchmark_names,
    benchmarks_folder,
    evaluation_calls,
    load_benchmark,
    read_benchmark,
)
from metro.errors import BenchmarkError

NAMES = ["cube", "pusht", "reacher", "tworoom"]


def test_there_are_four():
    """Those of the paper."""
    assert benchmark_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_can_be_read(name):
    """With every cell of the paper as (h, H, T), at each of its distances."""
    benchmark = load_benchmark(name)
    assert benchmark.name == name
    assert benchmark.action_block == 5
    assert benchmark.cem_iterations == (30 if name == "pusht" else 10)
    for model in ("lewm", "pldm"):
        cells = benchmark.paper["cells"][model]
        assert list(cells) == ["25", "50", "75"]
        assert all(len(cell) == 3 for group in cells.values() for cell in group)


def test_an_unknown_benchmark_names_the_known():
    """Also for what would be another file."""
    message = "There is no benchmark '../x'. There are cube, pusht, reacher, tworoom."
    with pytest.raises(BenchmarkError, match=f"^{re.escape(message)}$"):
        load_benchmark("../x")


def test_an_unknown_key_names_the_valid(tmp_path):
    """So that a typing error is not ignored."""
    file = tmp_path / "tworoom.toml"
    text = (benchmarks_folder() / "tworoom.toml").read_text()
    file.write_text("action_sise = 3\n" + text)
    message = (
        f"{file} has the unknown key 'action_sise'. Valid keys are env_id, "
        "env_arguments, action_size, action_block, restore_method, restore, "
        "goal_method, goal, goal_constants, success, recipes, renderings, "
        "episode_steps, cem_iterations, start_tag, paper, column_sizes, renderer, "
        "map_column, small_model, state_targets, released, demo."
    )
    with pytest.raises(BenchmarkError, match=f"^{re.escape(message)}$"):
        read_benchmark(file)


def test_a_missing_key_is_named(tmp_path):
    """And what to do."""
    file = tmp_path / "x.toml"
    file.write_text('env_id = "swm/TwoRoom-v1"\n')
    message = f"{file} lacks the key 'env_arguments'. Add it."
    with pytest.raises(BenchmarkError, match=f"^{re.escape(message)}$"):
        read_benchmark(file)


def test_what_is_no_toml_is_told(tmp_path):
    """With the line that is wrong."""
    file = tmp_path / "x.toml"
    file.write_text("env_id = \n")
    with pytest.raises(BenchmarkError, match=r"x\.toml cannot be read: .*line 1"):
        read_benchmark(file)


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("action_size", "true", "a whole number above 0, got 'True'"),
        ("action_block", "0", "a whole number above 0, got '0'"),
        ("success", "3", "a text, got '3'"),
        ("recipes", "[1]", "tuple[str, ...], got '(1,)'"),
        ("map_column", "2.5", "str | None, got '2.5'"),
    ],
)
def test_values_have_the_types_of_the_benchmark(tmp_path, key, value, wanted):
    """A wrong type is named where it is read, not where it is used."""
    file = tmp_path / "tworoom.toml"
    text = (benchmarks_folder() / "tworoom.toml").read_text()
    file.write_text(re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text))
    message = f"{file}: {key} must be {wanted}. Mend it."
    with pytest.raises(BenchmarkError, match=f"^{re.escape(message)}$"):
        read_benchmark(file)


def test_deep_toml_is_one_line(tmp_path):
    """Brackets without end are damage."""
    file = tmp_path / "x.toml"
    file.write_text("a = " + "[" * 100_000)
    with pytest.raises(BenchmarkError, match=r"x\.toml cannot be read: "):
        read_benchmark(file)


def test_benchmarks_lie_in_the_package_of_a_wheel(tmp_path, monkeypatch):
    """There the folder is inside the package, and goes first."""
    installed = tmp_path / "site-packages" / "metro"
    (installed / "evaluation").mkdir(parents=True)
    monkeypatch.setattr(module, "__file__", str(installed / "x.py"))
    with pytest.raises(BenchmarkError, match="^No benchmarks are installed beside"):
        benchmarks_folder()
    shutil.copytree(load_folder(), installed / "benchmarks")
    assert benchmarks_folder() == installed / "benchmarks"


def load_folder():
    """Return the folder of the repository."""
    from pathlib import Path

    return Path(__file__).parents[1] / "benchmarks"


def test_calls_for_swm_take_goals_from_goal_columns():
    """Constants stay constants."""
    start, goal = evaluation_calls(load_benchmark("cube"))
    assert start["args"]["qpos"] == {"value": "qpos"}
    assert goal["method"] == "set_target_pos"
    assert goal["args"]["cube_id"] == {"value": 0, "in_dataset": False}
    assert goal["args"]["target_pos"] == {"value": "goal_privileged_block_0_pos"}


@pytest.mark.parametrize(
    "text", ["a." * 20_000 + "a = 1", "[a." + "a." * 700 + "a]\n" * 99]
)
def test_a_benchmark_that_takes_long_to_parse_is_refused(tmp_path, text):
    """Python's parser takes the square of a key's length."""
    file = tmp_path / "x.toml"
    file.write_text(text)
    with pytest.raises(BenchmarkError, match="1000 in a line"):
        module.read_benchmark(file)

"""The benchmarks of the paper, one TOML file each in ``benchmarks/``."""

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from metro.errors import BenchmarkError
from metro.files import has_type, reading, require_regular_file

PAPER_FILE = "paper.toml"
"""The paper's numbers; the file lies beside the benchmarks and is not one."""

_LONGEST_FILE, _LONGEST_LINE = 65_536, 1_000
"""Characters."""


@dataclass(frozen=True)
class Benchmark:
    """One task: its environment, its columns, its success test, its recordings."""

    name: str
    env_id: str
    """The name gymnasium knows it by, such as ``swm/TwoRoom-v1``."""
    env_arguments: Mapping[str, Any]
    action_size: int
    """A, numbers in the action of one environment step."""
    action_block: int
    """Environment steps that a world model predicts at once."""
    restore_method: str
    restore: Mapping[str, str]
    """Arguments of the environment's `restore_method`, and the column of each."""
    goal_method: str
    goal: Mapping[str, str]
    """Arguments of its `goal_method`, and the column of each in the goal's row."""
    goal_constants: Mapping[str, Any]
    """Arguments of its `goal_method` that are the same for every goal."""
    success: str
    """The success test in words; the environment's own code decides."""
    recipes: tuple[str, ...]
    """Dataset variants that can be recorded; the first is the default."""
    renderings: tuple[str, ...]
    """How frames are drawn: ``stock`` as released, perhaps ``fast``."""
    episode_steps: int
    """Most environment steps of a recorded episode."""
    cem_iterations: int
    """Iterations of the micro planner in the paper."""
    start_tag: Mapping[str, Any]
    """Kinds of starts that are distinguished by a column, above or below a limit."""
    paper: Mapping[str, Any]
    """The paper's corpus, its best cells (h, H, T) by model and d, and numbers."""
    column_sizes: Mapping[str, int] = field(default_factory=dict)
    """Numbers in a row of the columns that states and goals are restored from."""
    renderer: str = "own"
    """What draws the frames: ``mujoco``, or ``own`` for the environment's own code."""
    map_column: str | None = None
    """The column that is a place on a map ``[2]``, in environments that have one."""
    small_model: Mapping[str, Any] = field(default_factory=dict)
    """Network sizes of the small preset that differ from its defaults."""
    state_targets: tuple[Mapping[str, Any], ...] = ()
    """Columns that probes learn to predict: ``column``, ``names``, perhaps a ``part``
    (first and end index) and a ``function`` of NumPy. Angles are given by sine and
    cosine, which have no jump."""
    released: Mapping[str, str] = field(default_factory=dict)
    """Repositories of released models, and how the sha256 of ``weights.pt`` starts."""
    demo: Mapping[str, Any] = field(default_factory=dict)
    """What ``metro demo`` uses; empty where there is no demo."""


def load_benchmark(name: str) -> Benchmark:
    """Return the benchmark called ``name``."""
    names = benchmark_names()
    if name not in names:
        raise BenchmarkError(
            f"There is no benchmark {name!r}. There are {', '.join(names)}."
        )
    return read_benchmark(benchmarks_folder() / f"{name}.toml")


def benchmark_names() -> list[str]:
    """Return the names of all benchmarks, sorted."""
    files = benchmarks_folder().glob("*.toml")
    return sorted(file.stem for file in files if file.name != PAPER_FILE)


def benchmarks_folder() -> Path:
    """Return the folder of the TOML files: in the package, or beside ``src``."""
    package = Path(__file__).resolve().parent
    for folder in (package / "benchmarks", package.parents[1] / "benchmarks"):
        if (folder / PAPER_FILE).is_file():
            return folder
    raise BenchmarkError(
        f"No benchmarks are installed beside {package}. Install metro-wm again."
    )


def read_benchmark(file: Path) -> Benchmark:
    """Return the benchmark that a TOML file describes; its name is the file's."""
    require_regular_file(file, BenchmarkError)
    with reading(file, BenchmarkError, "Mend it."):
        # By name: the default encoding of Windows is another.
        text = file.read_text("utf-8")
        # A parser takes the square of their length, minutes of some thousand dots.
        if len(text) > _LONGEST_FILE or max(map(len, text.split("\n"))) > _LONGEST_LINE:
            raise ValueError(
                f"a benchmark has at most {_LONGEST_FILE} characters, and "
                f"{_LONGEST_LINE} in a line"
            )
        table = tomllib.loads(text)
        values = {key: _tuples(value) for key, value in table.items()}
    _require_keys(file, table)
    _require_types(file, values)
    return Benchmark(name=file.stem, **values)


def evaluation_calls(benchmark: Benchmark) -> list[dict[str, Any]]:
    """Return the ``callables`` that ``World.evaluate`` of swm sets states with."""
    start = {name: {"value": column} for name, column in benchmark.restore.items()}
    goal: dict[str, dict[str, Any]] = {
        name: {"value": value, "in_dataset": False}
        for name, value in benchmark.goal_constants.items()
    }
    for name, column in benchmark.goal.items():
        # swm hands out the columns of the goal's row under this prefix.
        goal[name] = {"value": f"goal_{column}"}
    return [
        {"method": benchmark.restore_method, "args": start},
        {"method": benchmark.goal_method, "args": goal},
    ]


def _require_keys(file: Path, table: Mapping[str, Any]) -> None:
    keys = [key for key in fields(Benchmark) if key.name != "name"]
    valid = [key.name for key in keys]
    # Unknown keys first: a misspelt key is missing too, and says more.
    unknown = sorted(set(table) - set(valid))
    if unknown:
        raise BenchmarkError(
            f"{file} has the unknown key {unknown[0]!r}. Valid keys are "
            f"{', '.join(valid)}."
        )
    needed = [key.name for key in keys if key.default is key.default_factory is MISSING]
    missing = [key for key in needed if key not in table]
    if missing:
        raise BenchmarkError(f"{file} lacks the key {missing[0]!r}. Add it.")


def _require_types(file: Path, values: Mapping[str, Any]) -> None:
    hints = get_type_hints(Benchmark)
    for key, value in values.items():
        hint, is_count = hints[key], hints[key] is int
        if not has_type(value, hint) or (is_count and value < 1):
            # The same words as in the class, but for the commonest two.
            wanted = {int: "a whole number above 0", str: "a text"}.get(hint, hint)
            raise BenchmarkError(
                f"{file}: {key} must be {wanted}, got {str(value)[:40]!r}. Mend it."
            )


def _tuples(value: Any) -> Any:
    """Return a TOML value with tuples in place of lists."""
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    # A frozen benchmark must not hold lists that a caller can change.
    if isinstance(value, list):
        return tuple(_tuples(item) for item in value)
    return value

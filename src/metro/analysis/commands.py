"""What a user types to run a cell again."""

from metro.analysis.config_results import ConfigResult
from metro.analysis.episode_results import UNKNOWN
from metro.planners.methods.registry import method_names


def command_of_cell(cell: ConfigResult) -> str:
    """Return the command of a cell; CAPITALS are for the reader to fill in."""
    task, name = cell.task, cell.task.benchmark
    words = [f"metro evaluate {name} --corpus {task.corpus}"]
    method, _, told = cell.method.rstrip(")").partition(" (")
    options = [part for part in told.split(", ") if part and " = " not in part]
    model = task.model if method in method_names(needs_model=True) else "ANY-MODEL"
    words += [f"--model {model} --method {method}"]
    words += [f"--option {option}" for option in options]
    if method in method_names(needs_graph=True):
        words += [f"--graph GRAPH.metro --waypoint-budget {cell.waypoint_budget}"]
    if method in method_names(needs_macro=True):
        words += [f"--macro MACRO.safetensors --macro-steps {cell.macro_steps}"]
    words += [f"--goal-distance {task.goal_distance}"]
    if task.queries not in (UNKNOWN, f"{name}-d{task.goal_distance}.csv"):
        words += [f"--queries {task.queries}"]
    words += [f"--plan-blocks {cell.plan_blocks} --step-budget {cell.step_budget}"]
    words += [f"--planner-seed {seed}" for seed in sorted(set(cell.seeds))]
    return " ".join([*words, "-o rows.jsonl"])

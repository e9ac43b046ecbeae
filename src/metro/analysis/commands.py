"""The command that runs a configuration again."""

from metro.analysis.config_results import ConfigResult
from metro.analysis.task import UNKNOWN
from metro.planners.methods.registry import method_names


def command_of_config(config: ConfigResult) -> str:
    """Return the command of a configuration; the reader fills in the CAPITALS."""
    task, name = config.task, config.task.benchmark
    words = [f"metro evaluate {name} --corpus {task.corpus}"]
    method, option = config.key.name, config.key.option
    # Such methods ignore the model, but the option is required.
    model = task.model if method in method_names(needs_model=True) else "ANY-MODEL"
    words += [f"--model {model} --method {method}"]
    words += [f"--option {option}"] if option else []
    if method in method_names(needs_graph=True):
        words += [f"--graph GRAPH.metro --waypoint-budget {config.waypoint_budget}"]
    if method in method_names(needs_macro=True):
        words += [f"--macro MACRO.safetensors --macro-steps {config.macro_steps}"]
    words += [f"--goal-distance {task.goal_distance}"]
    # The usual query file is found by benchmark and distance; another is named.
    if task.queries not in (UNKNOWN, f"{name}-d{task.goal_distance}.csv"):
        words += [f"--queries {task.queries}"]
    words += [f"--plan-blocks {config.plan_blocks} --step-budget {config.step_budget}"]
    words += [f"--planner-seed {seed}" for seed in sorted(set(config.seeds))]
    return " ".join([*words, "-o rows.jsonl"])

"""Time our micro planner against stable-worldmodel's own loop, same model, one run.

Both plan for the same environments from the same frames to the same goals, and hand out
the actions of one plan: ours encodes and solves all of them together, swm's
`WorldModelPolicy` with `CEMSolver` and swm's `LeWM` around the same weights goes from one to
the next, as its users run it. The world is not stepped.

    python -m perf.planning_speed [MODEL] [ENVIRONMENTS] [ROUNDS]
"""

import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from metro.compat import import_swm
from metro.models.action_stats import require_stats
from metro.models.frozen import FrozenModel
from metro.models.loading import load_model
from metro.planners.cem import CEMSettings
from metro.planners.micro import CEMPlanner
from metro.version import commit
from perf.report import machine

TARGET = Path(__file__).parent / "planning-speed.json"


class AsViT(nn.Module):
    """Our compact encoder in the shape that swm's LeWM calls."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, images: Tensor, **_: Any) -> Any:
        """Return the features as the only token."""
        return SimpleNamespace(last_hidden_state=self.encoder(images)[:, None])


def swm_policy(model: FrozenModel, settings: CEMSettings, environments: int) -> Any:
    """Return swm's own policy, solver and LeWM around the weights of a model."""
    import_swm()
    from gymnasium.spaces import Box
    from stable_worldmodel.policy import PlanConfig, WorldModelPolicy
    from stable_worldmodel.solver import CEMSolver
    from stable_worldmodel.wm.lewm import LeWM

    net = model.network
    parts = (AsViT(net.encoder), net.predictor, net.action_encoder)
    theirs = LeWM(*parts, projector=net.projector, pred_proj=net.pred_proj).eval()
    solver = CEMSolver(
        theirs,
        num_samples=settings.num_samples,
        topk=settings.num_elites,
        n_steps=settings.iterations,
        seed=7,
    )
    blocks = settings.plan_blocks
    config = PlanConfig(blocks, blocks, action_block=5, warm_start=False)

    def prepare(image: Any) -> Tensor:
        return torch.as_tensor(image).float() * (2 / 127.5) - 2

    transform = {"pixels": prepare, "goal": prepare}
    policy = WorldModelPolicy(solver, config, transform=transform)
    shape = (environments, model.action_size)
    space = Box(-1, 1, shape, dtype=np.float32)
    single = Box(-1, 1, shape[1:], dtype=np.float32)
    policy.set_env(
        SimpleNamespace(
            num_envs=environments, action_space=space, single_action_space=single
        )
    )
    return policy


def measure(
    model: FrozenModel, blocks: int, environments: int, rounds: int
) -> dict[str, Any]:
    """Return seconds of one plan for all environments, ours and swm's, and the ratio."""
    settings = CEMSettings(blocks, iterations=10)
    rng = np.random.default_rng(0)
    size = model.image_size
    frames, goals = rng.integers(0, 256, (2, environments, size, size, 3), np.uint8)
    actor = CEMPlanner(
        model,
        settings,
        list(range(environments)),
        action_stats=require_stats(model),
    )
    policy = swm_policy(model, settings, environments)
    infos = {
        "pixels": frames[:, None],
        "goal": goals[:, None],
        "action": np.zeros((environments, 1, model.action_size), np.float32),
    }
    spent: dict[str, list[float]] = {"ours": [], "swm": []}
    for _ in range(rounds):
        started = time.perf_counter()
        target = actor.encode(goals)
        actor.plan(actor.encode(frames), target, range(environments))
        spent["ours"].append(time.perf_counter() - started)
        for buffer in policy._action_buffer:
            buffer.clear()
        started = time.perf_counter()
        for _ in range(5 * blocks):
            policy.get_action(dict(infos))
        spent["swm"].append(time.perf_counter() - started)
    best = {name: min(times) for name, times in spent.items()}
    return {
        "plan_blocks": blocks,
        "seconds": best,
        "ratio": round(best["swm"] / best["ours"], 2),
    }


def main() -> None:
    """Measure h = 1, 2 and 5, on one core and on all; write perf/planning-speed.json."""
    name = sys.argv[1] if len(sys.argv) > 1 else "lewm-small-tworoom"
    environments = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    model = load_model(name)
    rows = []
    for threads in dict.fromkeys((1, os.cpu_count() or 1)):
        torch.set_num_threads(threads)
        found = [measure(model, h, environments, rounds) for h in (1, 2, 5)]
        rows += [{"threads": threads, **row} for row in found]
    report = {
        "command": f"python -m perf.planning_speed {name} {environments} {rounds}",
        "environments": environments,
        "commit": commit(),
        "machine": machine(),
        "rows": rows,
    }
    TARGET.write_text(json.dumps(report, indent=1) + "\n")
    sys.stdout.write(json.dumps(report["rows"], indent=1) + "\n")


if __name__ == "__main__":
    main()

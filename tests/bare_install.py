"""Run by `make wheel-test` where metro is installed without extras or test tools."""

import sys

import numpy as np

import metro

HEAVY = ("torch", "gymnasium", "stable_worldmodel", "hydra", "matplotlib", "scipy")
assert not [name for name in HEAVY if name in sys.modules], "import metro is heavy"
assert "site-packages" in metro.__file__, metro.__file__

latents = metro.Latents.from_episodes([np.arange(9.0)[:, None]] * 2)
pricing = metro.PricingCurve.fit(latents, waypoint_budget=2)
graph = metro.build_graph(latents, metro.find_neighbours(latents), pricing)
routes = metro.find_routes(graph, latents.z[8], held_out=0)
assert metro.MetroPlanner(routes)(latents.z[0]).kind is metro.SubGoalKind.ROUTE
from importlib.resources import files  # noqa: E402  (after the checks above)

folders = [files("metro").joinpath(name) for name in ("assets", "benchmarks")]
shipped = {file.name for folder in folders for file in folder.iterdir()}
wanted = {"tworoom.toml", "paper.toml", "lewm-small-tworoom.safetensors"}
assert wanted <= shipped, shipped
sys.stdout.write(f"metro-wm {metro.__version__} works without extras\n")

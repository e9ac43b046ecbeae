"""Plan on latents of your own: no torch, no environment."""

import numpy as np

import metro

rng = np.random.default_rng(0)
episodes = np.cumsum(rng.normal(size=(40, 90, 16)), axis=1)  # yours: [length, D] each

latents = metro.Latents.from_episodes(episodes)
graph = metro.FrameGraph.from_latents(latents, waypoint_budget=8)
routes = metro.find_routes(graph, latents.z[200], held_out=3)
sub_goal = metro.MetroPlanner(routes)(latents.z[0])
print(graph)
print(
    f"{sub_goal.kind.name}: head for frame {sub_goal.frame}, "
    f"{sub_goal.cost_to_go:.1f} frames to the goal"
)

"""Look at a route: which episodes it follows, and where it crosses between them."""

import numpy as np

import metro
from metro.core.inspect import inspect_graph
from metro.core.itinerary import path_segments

rng = np.random.default_rng(0)
turns = np.cumsum(rng.normal(0, 0.3, size=(30, 80)), axis=1)
walks = np.cumsum(np.stack([np.cos(turns), np.sin(turns)], axis=2), axis=1)

latents = metro.Latents.from_episodes(np.mod(walks, 25))
graph = metro.FrameGraph.from_latents(latents, waypoint_budget=8)
print(inspect_graph(graph))

routes = metro.find_routes(graph, latents.z[1000])
for segment in path_segments(routes, start=5):
    print(segment)

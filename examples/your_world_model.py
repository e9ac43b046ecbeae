"""Plan with a world model of your own: any object with encode and rollout."""

from pathlib import Path

import dots

import metro
from metro.testing import check_world_model

corpus = dots.record(Path("dots"))
model = dots.DotModel(metro.ActionStats.of(corpus.column("action")))
check_world_model(model)  # one sentence says what is wrong, if anything is

graph = metro.FrameGraph.from_corpus(corpus, model, waypoint_budget=8)
action = metro.MetroPolicy(graph, model).act(corpus.frames(0)[0], corpus.frames(5)[30])
print(f"{graph}: first action {action.round(2)}")

"""metro as the policy of an existing stable-worldmodel script."""

import shutil
import warnings
from pathlib import Path

import metro
from metro.benchmark import evaluation_calls, load_benchmark
from metro.compat import import_swm  # as "import stable_worldmodel", any torchvision
from metro.data.collect.record import record

if __name__ == "__main__":  # recording starts processes, which import this file
    warnings.filterwarnings("ignore")  # gymnasium's remarks about the environment
    swm = import_swm()
    benchmark, episodes = load_benchmark("tworoom"), [1, 4]
    record(benchmark, "tworoom.h5", episodes=8, image_size=32)
    shutil.copyfile("tworoom.h5", "for-swm.h5")  # swm opens it in another mode

    model = metro.load_model("lewm-small-tworoom")
    corpus = metro.open_corpus("tworoom.h5")
    graph = metro.FrameGraph.from_corpus(corpus, model, waypoint_budget=8)
    policy = metro.MetroPolicy(graph, model, held_out=episodes)

    world = swm.World("swm/TwoRoom-v1", num_envs=2, image_shape=(32, 32))
    world.set_policy(policy)  # the only line that changes in your script
    outcome = world.evaluate(
        dataset=swm.data.load_dataset(str(Path("for-swm.h5").resolve())),
        episodes_idx=episodes,
        start_steps=[5, 5],
        goal_offset=20,
        eval_budget=40,
        callables=evaluation_calls(benchmark),
    )
    print("solved:", outcome["episode_successes"].tolist())

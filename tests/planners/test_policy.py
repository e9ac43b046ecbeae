"""The policy in stable-worldmodel's own World, and in a loop of one's own."""

import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from metro import (
    MetroPlanner,
    PricingCurve,
    build_graph,
    find_neighbours,
    find_routes,
)
from metro.benchmark import evaluation_calls, load_benchmark
from metro.compat import import_swm
from metro.core.latents import Latents
from metro.data.corpus import open_corpus
from metro.envs import open_env
from metro.errors import BenchmarkError, LatentsError, ModelError
from metro.models.loading import load_model
from metro.planners.cem import CEMSettings
from metro.planners.policy import FlatPolicy, MetroPolicy
from metro.planners.policy_base import usual_settings
from metro.planners.proposals import RECORDED_SEARCH
from metro.storage.artefacts import load_graph

EPISODES, START, DISTANCE = [1, 4, 6], 5, 20


@pytest.fixture(scope="module")
def tworoom():
    return load_benchmark("tworoom")


@pytest.fixture(scope="module")
def model():
    return load_model("lewm-small-tworoom")


@pytest.fixture(scope="module")
def corpus(tworoom_folder, tmp_path_factory):
    """A dozen recorded episodes."""
    path = tmp_path_factory.mktemp("policy") / "tworoom.h5"
    shutil.copyfile(tworoom_folder / "tworoom.h5", path)
    with open_corpus(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def graph(tworoom_folder):
    return load_graph(tworoom_folder / "tworoom.metro")


def run_world(set_policy, corpus, tworoom):
    """Return what `World.evaluate` of swm says: the script of an existing user."""
    swm = import_swm()
    copied = Path(corpus.name).with_name("for-swm.h5")  # opened in another mode there
    shutil.copyfile(corpus.name, copied)
    dataset = swm.data.load_dataset(str(copied))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="gymnasium")
        warnings.filterwarnings("ignore", message=".*Gym.*|.*WARN.*")
        world = swm.World(
            "swm/TwoRoom-v1", num_envs=len(EPISODES), image_shape=(32, 32)
        )
        set_policy(world)
        outcome = world.evaluate(
            dataset=dataset,
            episodes_idx=EPISODES,
            start_steps=[START] * len(EPISODES),
            goal_offset=DISTANCE,
            eval_budget=60,
            callables=evaluation_calls(tworoom),
        )
        world.close()
    dataset.h5_file.close()
    return outcome["episode_successes"]


def test_a_drop_in_for_swm(graph, model, corpus, tworoom):
    """Each environment has its own goal, routes and held-out episode; all arrive."""
    policy = MetroPolicy(graph, model, held_out=EPISODES)
    assert run_world(lambda w: w.set_policy(policy), corpus, tworoom).all()
    assert policy.seconds.plan > policy.seconds.entry > 0
    for sub_goal, episode in zip(policy.sub_goals, EPISODES, strict=True):
        if sub_goal.frame is not None:
            assert graph.latents.episode_of(sub_goal.frame) != episode


@pytest.mark.parametrize("name", ["ICEMSolver", "MPPISolver", "CEMSolver"])
def test_solvers_of_swm_plug_in(graph, model, corpus, tworoom, name):
    """Other micro planners, unchanged."""
    import_swm()
    import stable_worldmodel.solver as solvers

    made = getattr(solvers, name)
    policy = MetroPolicy(
        graph,
        model,
        settings=CEMSettings(plan_blocks=2),  # swm's iCEM cannot plan a single block
        held_out=EPISODES,
        make_solver=lambda cost: made(cost, num_samples=100, n_steps=5),
    )
    assert run_world(lambda w: w.set_policy(policy), corpus, tworoom).sum() >= 2


@pytest.mark.parametrize("name", ["CEMSolver", "GradientSolver"])
def test_solvers_of_swm_start_from_recorded_actions(graph, model, corpus, world, name):
    """Left without anything to search, they drive as recorded and arrive."""
    import_swm()
    import stable_worldmodel.solver as solvers

    options = {
        "CEMSolver": {"num_samples": 4, "topk": 2, "n_steps": 1, "var_scale": 1e-9},
        "GradientSolver": {"n_steps": 1, "optimizer_kwargs": {"lr": 0.0}},
    }
    policy = MetroPolicy(
        graph,
        model,
        proposals="recorded",
        recorded=corpus.column("action"),
        make_solver=lambda cost: getattr(solvers, name)(cost, **options[name]),
    )
    assert drive(policy, world, corpus.frames(1)[START + DISTANCE]) is not None


def test_proposals_choose_where_micro_plans_start(graph, model, corpus, world):
    """Recorded if the actions are given, unless gaussian is asked for."""
    actions, goal = corpus.column("action"), corpus.frames(1)[START + DISTANCE]

    def first(**options):
        return MetroPolicy(graph, model, **options).act(world.render(), goal).tolist()

    plain, recorded = first(settings=RECORDED_SEARCH), first(recorded=actions)
    assert plain != recorded
    assert first(recorded=actions, proposals="recorded") == recorded
    found = first(recorded=actions, proposals="gaussian", settings=RECORDED_SEARCH)
    assert found == plain
    with pytest.raises(BenchmarkError, match=r"^proposals=\"recorded\" needs .*column"):
        MetroPolicy(graph, model, proposals="recorded")
    with pytest.raises(BenchmarkError, match="^proposals must be .*, got 'best'"):
        MetroPolicy(graph, model, proposals="best")


@pytest.fixture
def world(tworoom, model, corpus):
    """A world at the start of a recorded way, aimed at its end."""
    opened = open_env(tworoom, image_size=model.image_size)
    opened.reset(0)
    first = int(corpus.offsets[1])
    opened.set_state(corpus.row(first + START))
    opened.set_goal(corpus.row(first + START + DISTANCE))
    yield opened
    opened.close()


def drive(policy, world, goal, steps=60):
    """Return how many steps it took, or None."""
    for step in range(steps):
        if world.step(policy.act(world.render(), goal)):
            return step + 1
    return None


def make_goals(corpus, graph):
    """Return the same goal said in four ways."""
    frame = int(corpus.offsets[1]) + START + DISTANCE
    image = corpus.frames(1)[START + DISTANCE]
    return {
        "image": image,
        "latent": graph.latents.z[frame],
        "frame": frame,
        "set": [frame, image],
    }


@pytest.mark.parametrize("way", ["image", "latent", "frame", "set"])
def test_a_loop_of_ones_own(graph, model, corpus, world, way):
    """No World of swm: a frame in, an action out, whatever the goal is given as."""
    policy = MetroPolicy(graph, model, held_out=[1])
    assert drive(policy, world, make_goals(corpus, graph)[way]) is not None


def test_any_of_several_goals(graph, model, corpus, world):
    """It goes to the one that is cheaper to reach from where it is."""
    policy = MetroPolicy(graph, model, held_out=[1])
    near = int(corpus.offsets[1]) + START + 6
    far = int(corpus.offsets[1]) + START + DISTANCE
    policy.act(world.render(), [far, near])
    observed = model.encode(world.render()[None])[0]
    costs = []
    for goal in (far, near):
        routes = find_routes(graph, graph.latents.z[goal], held_out=1)
        costs.append(MetroPlanner(routes)(observed).cost_to_go)
    assert costs[1] < costs[0]
    assert policy.sub_goals[0].cost_to_go == costs[1]


def test_a_new_goal_is_a_new_route(graph, model, corpus, world):
    """The plan for the old goal is dropped at once."""
    policy = MetroPolicy(graph, model)
    frame = world.render()
    policy.act(frame, 40)
    first = policy.sub_goals[0]
    policy.act(frame, 300)
    assert policy.sub_goals[0] is not first


def test_the_search_is_the_published_one_of_its_benchmark(model):
    """30 iterations on PushT, 10 elsewhere, also for worlds that are nobody's."""
    assert usual_settings(load_model("lewm-small-state-pusht")).iterations == 30
    assert usual_settings(model).iterations == 10
    strange = load_model("lewm-small-tworoom")
    strange.benchmark = "my-robot"
    assert usual_settings(strange).iterations == 10


def test_one_stream_an_environment(graph, model, corpus, world):
    """The same seed, the same actions; another seed, others."""
    frame = world.render()
    goal = make_goals(corpus, graph)["latent"]
    acted = [MetroPolicy(graph, model, seed=s).act(frame, goal) for s in (1, 1, 2)]
    np.testing.assert_array_equal(acted[0], acted[1])
    assert not np.array_equal(acted[0], acted[2])


def test_bad_input(graph, model, corpus):
    """Another model's graph, a goal of another size, a wrong number of episodes."""
    strange = Latents(
        np.zeros((4, 8)) + np.arange(4)[:, None], [0, 2, 4], {"model": {"digest": "00"}}
    )
    pricing = PricingCurve.fit(strange, waypoint_budget=1)
    other = build_graph(strange, find_neighbours(strange), pricing)
    with pytest.raises(LatentsError, match="were made from another model: 00,"):
        MetroPolicy(other, model)
    unnamed = replace(other, latents=Latents(strange.z, [0, 2, 4]))
    with pytest.raises(BenchmarkError, match="does not say which model its latents"):
        MetroPolicy(unnamed, model)
    assert MetroPolicy(unnamed, model, trust_graph=True).graph is unnamed
    policy = MetroPolicy(graph, model)
    with pytest.raises(ModelError, match="encodes uint8 frames"):
        policy.act(corpus.frames(0)[0], np.zeros((64, 64, 3), np.uint8))
    told = (
        "held_out must name an episode or None for each environment: got 2 for 1 "
        "environments."
    )
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        MetroPolicy(graph, model, held_out=[1, 2]).reset(1)


def flat_targets(policy, goal, frames):
    """Return the targets that a flat policy plans for at each frame."""
    policy.reset(1)
    planner, targets = policy._loop.planner, []

    def plan(observed, target, queries):
        targets.append(target[0])
        return np.zeros((1, 1, policy.model.action_size), np.float32)

    planner.plan = plan
    for frame in frames:
        policy.act(frame, goal)
    return targets


@pytest.mark.parametrize("order", [1, -1])
def test_flat_heads_for_the_goal_nearest_at_the_start(model, corpus, order):
    """Of several goals the nearest latent is chosen, in whatever order they come."""
    frames = corpus.frames(1)
    near, far = model.encode(frames[[START + 1, START + DISTANCE]])
    targets = flat_targets(FlatPolicy(model), [near, far][::order], [frames[START]])
    np.testing.assert_array_equal(targets, [near])


def test_flat_keeps_the_goal_it_chose(model, corpus):
    """Arriving at another of the goals does not change the target."""
    frames = corpus.frames(1)
    near, far = model.encode(frames[[START, START + DISTANCE]])
    shown = frames[[START, START + DISTANCE]]
    targets = flat_targets(FlatPolicy(model), (near, far), shown)
    np.testing.assert_array_equal(targets, [near, near])


def test_flat_knows_no_recorded_frames(model, corpus):
    """A frame's number is refused, also among goals that would do."""
    frame = corpus.frames(1)[START]
    with pytest.raises(BenchmarkError, match="got frame 12: this policy has no graph"):
        FlatPolicy(model).act(frame, [frame, 12])


@pytest.mark.parametrize("kind", [str, Path])
def test_paths_and_names_are_accepted(graph, model, corpus, tworoom_folder, kind):
    """A policy of a graph's file and a model's name acts as one of the objects."""
    frame, file = corpus.frames(1)[START], kind(tworoom_folder / "tworoom.metro")
    named = MetroPolicy(file, "lewm-small-tworoom")
    acted = [policy.act(frame, 40) for policy in (named, MetroPolicy(graph, model))]
    np.testing.assert_array_equal(*acted)


def test_held_out_is_checked_where_a_world_is_set(graph, model):
    """Fewer episodes than environments are refused before anything is planned."""
    policy = MetroPolicy(graph, model, held_out=[1])
    with pytest.raises(BenchmarkError, match="got 1 for 3 environments"):
        policy.set_env(type("World", (), {"num_envs": 3}))
    policy.reset(1)

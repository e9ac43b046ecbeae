"""Laws of training: clips, settings, resuming, and that something is learned."""

import re
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from model_makers import QUICK, TINY, make_footage, make_model
from numpy.testing import assert_allclose, assert_array_equal

from metro.errors import ModelError
from metro.models import trainer, training
from metro.models.action_stats import ActionStats
from metro.models.allocator import keep_freed_memory
from metro.models.calibration import calibrate
from metro.models.loading import load_model
from metro.models.probes import prediction_errors, probe_state
from metro.models.sequences import (
    SequenceSampler,
    TrajectoryDataset,
    sequence_starts,
    split_episodes,
)
from metro.models.train_config import TrainConfig, model_name, paper_config
from metro.models.training import train


@pytest.fixture(scope="module")
def dataset():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


@pytest.fixture(autouse=True)
def few_checks(monkeypatch):
    """Measure models on the way twice only."""
    monkeypatch.setattr(training, "CHECKS", 2)


def run(dataset, path, config=QUICK, **settings):
    return train(dataset, path, sizes=TINY, config=config, **settings)


def test_clips_are_frames_five_apart_and_all_actions(dataset):
    """A clip has frames 0, 5, 10, 15 and, for each, the five actions that leave it."""
    stats = ActionStats.of(dataset.actions)
    starts = np.array([3, 40])
    sampler = SequenceSampler(dataset, starts, action_stats=stats, batch_size=2, seed=0)
    batch = sampler.gather(starts)
    assert_array_equal(batch.pixels[1], dataset.pixels[8])
    assert_array_equal(batch.pixels[7], dataset.pixels[55])
    expected = (dataset.actions[13:18] - stats.mean) / stats.std
    assert_allclose(batch.blocks[0, 2], expected.ravel(), rtol=1e-6)
    assert batch.states.shape == (2, 4, 2)


def test_clips_stay_in_their_episode():
    """Every start leaves twenty rows of its own episode, and none is missing."""
    lengths = np.array([25, 19, 20])
    starts = sequence_starts(lengths, np.array([0, 1, 2]))
    assert_array_equal(starts, [0, 1, 2, 3, 4, 5, 44])
    assert_array_equal(sequence_starts(lengths, np.array([2])), [44])


def test_every_epoch_visits_each_clip_once(dataset):
    """A shuffled epoch is a permutation, another epoch another one."""
    starts = np.arange(8)
    stats = ActionStats.of(dataset.actions)
    sampler = SequenceSampler(dataset, starts, action_stats=stats, batch_size=4, seed=0)
    orders = [
        np.concatenate([sampler.starts_at(2 * epoch + part) for part in range(2)])
        for epoch in range(2)
    ]
    assert_array_equal(np.sort(orders[0]), starts)
    assert_array_equal(np.sort(orders[1]), starts)
    assert (orders[0] != orders[1]).any()


def test_episodes_are_held_out_whole():
    """The split is by episodes, complete, disjoint and decided by the seed."""
    kept, held_out = split_episodes(50, 0.1, 3)
    assert len(held_out) == 5
    assert_array_equal(np.sort(np.concatenate([kept, held_out])), np.arange(50))
    assert_array_equal(split_episodes(50, 0.1, 3)[1], held_out)
    assert (split_episodes(50, 0.1, 4)[1] != held_out).any()


def test_the_rate_rises_and_falls():
    """Linear warm-up to the peak, cosine to nearly 0 at the last step."""
    config = TrainConfig(steps=1000, warmup=0.01, learning_rate=2.0)
    rates = [config.rate_at(step, 1000) for step in range(1000)]
    assert rates[:10] == pytest.approx(np.arange(1, 11) * 0.2)
    assert rates[10] == 2.0
    assert np.all(np.diff(rates[10:]) < 0)
    assert rates[-1] < 1e-4


def test_heads_stop_after_their_warm_up():
    """``warmup`` weighs a head for its share of the steps only."""
    config = TrainConfig(steps=10, state_head="warmup", head_share=0.3, head_weight=2.0)
    weights = [config.auxiliary_weights_at(step) for step in range(5)]
    assert weights == [{"state": 2.0}] * 3 + [{}] * 2
    assert TrainConfig().auxiliary_weights_at(0) == {}
    config = TrainConfig(pixel_head="throughout")
    assert config.auxiliary_weights_at(1999) == {"pixels": 1.0}


def test_names_tell_the_heads():
    """A model whose training had more than the published loss is called so."""
    assert model_name("pusht", "small", TrainConfig()) == "lewm-small-pusht"
    config = TrainConfig(family="pldm", state_head="throughout")
    assert model_name("pusht", "small", config) == "pldm-small-state-pusht"
    config = TrainConfig(pixel_head="warmup")
    assert model_name(None, "small", config) == "lewm-small-pixels-warmup-own"


def test_the_paper_recipe_is_the_published_one():
    """AdamW 5e-5 / 1e-3, batch 128, 1024 projections, clips split, seed 3072."""
    config = paper_config("lewm", steps=100)
    assert (config.learning_rate, config.weight_decay) == (5e-5, 1e-3)
    assert (config.batch_size, config.num_directions) == (128, 1024)
    assert (config.split, config.held_out, config.seed) == ("clips", 0.1, 3072)


@pytest.mark.parametrize("family", ["lewm", "pldm"])
def test_the_same_seed_gives_the_same_file(dataset, tmp_path, family):
    """Training is deterministic, down to the bytes of the file."""
    config = replace(QUICK, family=family, state_head="throughout")
    files = [run(dataset, tmp_path / f"{n}.safetensors", config).path for n in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()
    other = run(dataset, tmp_path / "c.safetensors", replace(config, seed=1))
    assert other.model.digest != load_model(files[0]).digest


def test_resumed_training_gives_the_same_bytes(dataset, tmp_path):
    """Ctrl-C in the middle, then the same call: the file of an undisturbed run."""
    whole = run(dataset, tmp_path / "whole.safetensors").path

    def press(done, _):
        if done == 3:
            signal.raise_signal(signal.SIGINT)

    parts = tmp_path / "parts.safetensors"
    with pytest.raises(KeyboardInterrupt):
        run(dataset, parts, progress=press)
    assert not parts.exists()
    steps = []
    resumed = run(dataset, parts, progress=lambda done, _: steps.append(done))
    assert steps[0] == 5  # the step under way was finished and kept
    assert resumed.path.read_bytes() == whole.read_bytes()
    assert sorted(file.name for file in tmp_path.glob("parts*")) == [
        "parts.safetensors",
        "parts.safetensors.log.json",
    ]


def test_checkpoints_are_written_on_the_way(dataset, tmp_path, monkeypatch):
    """A run that is killed goes on from its last checkpoint."""
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", 0.0)
    path = tmp_path / "killed.safetensors"

    class Killed(Exception):
        pass

    def kill(done, _):
        if done == 4:
            raise Killed

    with pytest.raises(Killed):
        run(dataset, path, progress=kill)
    whole = run(dataset, tmp_path / "whole.safetensors").path
    assert run(dataset, path).path.read_bytes() == whole.read_bytes()


def test_a_checkpoint_of_other_settings_is_told(dataset, tmp_path):
    """Other settings never go on from this checkpoint."""
    path = tmp_path / "model.safetensors"

    def press(done, _):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(dataset, path, progress=press)
    message = (
        f"{path}.checkpoint belongs to a run with other settings or another corpus. "
        f"Delete it, or train to another file."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        run(dataset, path, replace(QUICK, seed=9))
    (tmp_path / "model.safetensors.checkpoint").write_bytes(b"half")
    with pytest.raises(
        ModelError, match=r"is damaged \(\w+\)\. Delete it to start again\.$"
    ):
        run(dataset, path)


def test_a_linear_system_is_learned(tmp_path):
    """A tiny model predicts a moving dot better than copying, and knows its place."""
    dataset = make_footage(120, 30)
    config = replace(QUICK, steps=250, batch_size=64, learning_rate=5e-3)
    result = run(dataset, tmp_path / "dots.safetensors", config)
    _, held_out = split_episodes(120, config.held_out, config.seed)
    for error in prediction_errors(result.model, dataset, held_out):
        assert error["prediction"] < 0.5 * error["copy"], error
    assert min(result.log[-1]["probe"].values()) > 0.7


def test_fine_tuning_starts_from_the_given_weights(dataset, tmp_path):
    """With a rate of 0 the weights are those of ``init``, and its scaling is kept."""
    init = make_model(action_stats=ActionStats([0.1, 0.1], [2.0, 2.0]))
    config = replace(QUICK, learning_rate=0.0, steps=1)
    result = run(dataset, tmp_path / "tuned.safetensors", config, init=init)
    for name, tensor in init.network.named_parameters():
        assert torch.equal(result.model.network.get_parameter(name), tensor), name
    assert_allclose(result.model.action_stats.std, [2.0, 2.0])
    assert result.model.notes["init"] == init.digest


@pytest.mark.parametrize(("head", "loss"), [("state", "state"), ("pixel", "pixels")])
def test_heads_leave_no_trace_in_the_file(dataset, tmp_path, head, loss):
    """A head helps training and is not part of the model; the name tells it."""
    config = replace(QUICK, **{f"{head}_head": "throughout"})
    result = run(dataset, tmp_path / "model.safetensors", config)
    assert result.log[-1][loss] < 2
    assert result.model.name == f"lewm-small-{loss}-tworoom"
    expected = make_model().network.state_dict()
    assert result.model.network.state_dict().keys() == expected.keys()


def test_thumbnails_can_be_drawn_from_z(dataset, tmp_path):
    """Standardised thumbnails have spread 1; a trained head explains some of it."""
    config = replace(QUICK, steps=60, pixel_head="throughout")
    result = run(dataset, tmp_path / "model.safetensors", config)
    assert result.log[-1]["pixels"] < 0.8 * result.log[0]["pixels"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"image_size": 32},
            "The corpus has frames of 16 px, the network takes 32 px. "
            "Record with --image-size 32.",
        ),
        (
            {"action_size": 25},
            "The corpus has action blocks of 10 numbers, the network takes 25. "
            "It is for another benchmark.",
        ),
    ],
)
def test_footage_that_does_not_fit_is_told(dataset, tmp_path, change, message):
    """Frames or actions of another size are refused with both sizes."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        train(dataset, tmp_path / "x", sizes=replace(TINY, **change), config=QUICK)


def test_too_little_footage_is_told(tmp_path):
    """Fewer clips than one batch is an error, not an endless epoch."""
    message = (
        "Training needs at least one batch of 16 sequences of 20 rows; the corpus has "
        "11. Record more or longer episodes."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        run(make_footage(2), tmp_path / "model.safetensors")


def test_an_existing_file_is_kept(dataset, tmp_path):
    """Nothing is overwritten."""
    path = tmp_path / "model.safetensors"
    path.write_text("mine")
    message = f"{path} exists already. Delete it or choose another name."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        run(dataset, path)


def test_a_state_head_without_states_is_told(dataset, tmp_path):
    """The head needs recorded states."""
    blind = TrajectoryDataset(dataset.pixels, dataset.actions, dataset.lengths)
    message = (
        "state_head='warmup' needs the true state of every frame; the corpus has none. "
        "Use state_head='none'."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        run(blind, tmp_path / "model.safetensors", replace(QUICK, state_head="warmup"))


def test_arrays_of_different_length_are_told(dataset):
    """Rows of all arrays must agree."""
    message = (
        "All arrays must have the same rows, got pixels 360, actions 359, lengths 360."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        TrajectoryDataset(dataset.pixels, dataset.actions[:-1], dataset.lengths)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"family": "vae"}, "family must be one of lewm, pldm, got 'vae'."),
        ({"steps": 0}, "steps must be at least 1, got 0."),
    ],
)
def test_wrong_settings_are_told(settings, message):
    """A config lists what would have been valid."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        TrainConfig(**settings)


def test_the_allocator_can_be_asked_twice():
    """Keeping freed memory is harmless to ask for again."""
    assert keep_freed_memory() == keep_freed_memory()


def test_calibrated_batch_norms_have_the_batches_statistics(dataset):
    """In evaluation mode a calibrated model does what training mode does."""
    starts = np.arange(64)
    stats = ActionStats.of(dataset.actions)
    sampler = SequenceSampler(
        dataset, starts, action_stats=stats, batch_size=64, seed=0
    )
    network = make_model().network
    pixels = torch.from_numpy(sampler.batch(0).pixels)
    calibrate(network, [sampler.batch(0)])
    expected = network.train().encode(pixels)
    found = network.eval().encode(pixels)
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
    assert all(
        module.momentum == 0.1
        for module in network.modules()
        if isinstance(module, torch.nn.BatchNorm1d)
    )


def test_probes_read_a_linear_state():
    """R² is 1 for a linear function of z, about 0 for noise."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3000, 6)).astype(np.float32)
    states = np.column_stack([z @ rng.normal(size=6) + 3, rng.normal(size=3000)])
    scores = probe_state(z, states, np.arange(3000) >= 2000, names=("line", "noise"))
    assert scores["line"] > 0.999
    assert abs(scores["noise"]) < 0.05


def test_the_predictor_alone_leaves_latents_as_they_are(dataset, tmp_path):
    """Bit for bit the same encoder, batch norm too; a better prediction."""
    first = run(dataset, tmp_path / "a.safetensors").model
    config = replace(QUICK, train_only="predictor", steps=60, seed=1)
    second = run(dataset, tmp_path / "b.safetensors", config, init=first).model
    frames = dataset.pixels[:50]
    assert_array_equal(first.encode(frames), second.encode(frames))
    held_out = np.arange(len(dataset.lengths))
    before, after = (prediction_errors(m, dataset, held_out) for m in (first, second))
    assert after[0]["prediction"] < before[0]["prediction"]


def test_the_predictor_alone_needs_an_encoder(dataset, tmp_path):
    """There is nothing to keep otherwise."""
    told = (
        "train_only='predictor' keeps an encoder: give the model that has it as init."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(told)}$"):
        run(dataset, tmp_path / "a.safetensors", replace(QUICK, train_only="predictor"))


def test_the_predictor_learns_its_own_rollouts(dataset, tmp_path):
    """Blocks each from the last; latents and batch norm stay as they are."""
    first = run(dataset, tmp_path / "a.safetensors").model
    config = replace(QUICK, train_only="predictor", rollout_blocks=3, steps=60, seed=1)
    second = run(dataset, tmp_path / "b.safetensors", config, init=first).model
    frames = dataset.pixels[:50]
    assert_array_equal(first.encode(frames), second.encode(frames))
    norm = "pred_proj.net.1.running_mean"
    weights = [model.network.state_dict()[norm] for model in (first, second)]
    assert_array_equal(*weights)
    held_out = np.arange(len(dataset.lengths))
    before, after = (prediction_errors(m, dataset, held_out) for m in (first, second))
    assert after[2]["prediction"] < before[2]["prediction"]


def test_rollouts_are_for_the_predictor():
    """Published training never feeds a prediction back."""
    told = (
        "rollout_blocks belongs to train_only='predictor', got 5 for train_only='all'."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(told)}$"):
        TrainConfig(rollout_blocks=5)

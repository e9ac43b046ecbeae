"""Laws of the macro searches, their bank, their guides and their micro level."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from macro_makers import ACTION_STATS, make_frozen, make_macro
from numpy.testing import assert_array_equal

from metro.errors import BenchmarkError, ModelError
from metro.planners.cem import CEM, CEMSettings, make_stream
from metro.planners.hierarchical.bank import Bank, Recorded, build_bank, calibrate_box
from metro.planners.hierarchical.budgets import (
    HierarchySettings,
    MacroSearch,
    hierarchy_settings,
)
from metro.planners.hierarchical.hierarchy import macro_stream
from metro.planners.hierarchical.macro_cem import BankCEM, LatentCEM, MacroPlan
from metro.planners.hierarchical.macro_selectors import (
    HierarchicalSelector,
    StagedSelector,
)
from metro.planners.hierarchical.receding import RecedingPlanner
from metro.planners.methods.hi_lewm import FREE
from metro.planners.methods.hi_lewm_c import BANKED
from metro.planners.methods.hi_lewm_c_staged import STAGED

SEARCH = MacroSearch(2, 64, 6, 8)
START, GOAL = np.float32([0.5, -0.5]), np.float32([1.0, 2.0])


class Drifting:
    """A linear macro world that remembers what it was asked."""

    name, latent_size, macro_size = "drifting", 2, 2
    action_size, action_block = 2, 1

    def __init__(self):
        self.asked = []

    def rollout(self, z, actions):
        """Return the latents after each macro action."""
        self.asked.append(actions.clone())
        return z[:, None] + 0.3 * actions.cumsum(dim=1)


class Fixed:
    """A solver that counts, and predicts the number of the search."""

    def __init__(self, macro_steps=2):
        self.around, self._steps = [], macro_steps

    def solve(self, observed, goal, stream, around=None):
        """Return a plan that tells when it was made."""
        self.around.append(around)
        number = len(self.around)
        latents = np.float32([[number, step] for step in range(self._steps)])
        return MacroPlan(torch.full((self._steps, 2), number), latents, 0.0, ())


def make_bank(steps=2, size=40):
    sequences = torch.randn(size, steps, 2, generator=make_stream(5))
    return Bank(sequences, np.arange(size) // 10, np.arange(size))


def make_recorded(lengths=(60, 30, 24, 80)):
    """Return actions whose last row of every episode is NaN."""
    actions = np.random.default_rng(0).normal(size=(sum(lengths), 2))
    actions[np.cumsum(lengths) - 1] = np.nan
    return Recorded(actions.astype(np.float32), np.array(lengths), ACTION_STATS)


def test_the_latent_search_is_the_micro_search():
    """With the same numbers both give the same plan: elite mean, unbiased spread."""
    world = Drifting()
    micro = CEM(world, CEMSettings(2, 64, 8, 6))
    expected = micro.plan(START[None], GOAL[None], [make_stream(3)])[0]
    found = LatentCEM(world, SEARCH).solve(START, GOAL, make_stream(3))
    np.testing.assert_allclose(found.macro_actions.numpy(), expected, atol=1e-6)
    np.testing.assert_allclose(found.latents[-1], GOAL, atol=0.5)


def test_a_warm_start_is_the_first_mean():
    """What was left comes first, zeros follow, and it is the first candidate."""
    world = Drifting()
    around = torch.tensor([[7.0, 8.0]])
    LatentCEM(world, SEARCH).solve(START, GOAL, make_stream(0), around)
    assert_array_equal(world.asked[0][0], [[7, 8], [0, 0]])


def test_the_box_bounds_candidates_only_if_asked():
    """With a box no candidate leaves it; without, some do: it is no default."""
    box = torch.tensor([[-0.5, -0.5], [0.5, 0.5]])
    bounded, free = Drifting(), Drifting()
    LatentCEM(bounded, SEARCH, box).solve(START, GOAL, make_stream(0))
    LatentCEM(free, SEARCH).solve(START, GOAL, make_stream(0))
    assert max(float(asked.abs().max()) for asked in bounded.asked) <= 0.5
    assert float(free.asked[0].abs().max()) > 0.5


def test_the_bank_search_returns_the_best_it_found():
    """The least cost never rises, and the plan is the candidate that had it."""
    world = Drifting()
    plan = BankCEM(world, SEARCH, make_bank()).solve(START, GOAL, make_stream(1))
    assert len(plan.best_costs) == SEARCH.iterations
    assert np.all(np.diff(plan.best_costs) <= 0)
    candidates = torch.cat(world.asked[: SEARCH.iterations])
    last = torch.tensor(START) + 0.3 * candidates.sum(dim=1)
    cost = (last - torch.tensor(GOAL)).square().sum(dim=1)
    assert plan.cost == pytest.approx(float(cost.min()), rel=1e-5)
    assert plan.best_costs[-1] == pytest.approx(plan.cost, rel=1e-5)
    assert torch.equal(plan.macro_actions, candidates[cost.argmin()])


def test_candidates_are_recorded_sequences_and_residuals():
    """One candidate is unperturbed; the others are 0.2 away, later at least 0.001."""
    world, bank = Drifting(), make_bank()
    search = replace(SEARCH, num_samples=2000, iterations=30)
    BankCEM(world, search, bank).solve(START, GOAL, make_stream(1))
    for asked in world.asked[:30]:
        assert (bank.sequences == asked[0]).all(dim=(1, 2)).any()
    stream = make_stream(1)
    rows = torch.randint(40, (2000,), generator=stream)
    residual = (world.asked[0] - bank.sequences[rows])[1:]
    assert float(residual.std()) == pytest.approx(0.2, rel=0.03)
    frozen = BankCEM(world, search, bank, residual=0.0, floor=1e-3)
    world.asked.clear()
    frozen.solve(START, GOAL, make_stream(1))
    torch.randn(2000, 2, 2, generator=stream)
    again = torch.randint(40, (2000,), generator=stream)
    residual = (world.asked[1] - bank.sequences[again])[1:]
    assert float(residual.std()) == pytest.approx(1e-3, rel=0.05)


@pytest.mark.parametrize("with_bank", [True, False])
def test_queries_do_not_depend_on_each_other(with_bank):
    """Solved in turns or alone, in any order: the same plans."""
    world = Drifting()
    solver = (
        BankCEM(world, SEARCH, make_bank()) if with_bank else LatentCEM(world, SEARCH)
    )
    goals = [GOAL, -GOAL]
    guides = [HierarchicalSelector(solver, goals[n], macro_stream(n)) for n in (0, 1)]
    turns = [[guides[n](START, step)[0] for n in (0, 1)] for step in (0, 5)]
    for n in (1, 0):
        alone = HierarchicalSelector(solver, goals[n], macro_stream(n))
        for step in (0, 5):
            assert_array_equal(alone(START, step)[0], turns[step // 5][n])


def test_macro_numbers_are_not_the_micro_ones():
    """The macro level has a stream of its own for every query."""
    macro, micro = macro_stream(7), make_stream(7)
    assert not torch.equal(
        torch.randn(4, generator=macro), torch.randn(4, generator=micro)
    )


def test_sub_goals_are_searched_at_intervals():
    """The first predicted latent, kept until the interval is over."""
    solver = Fixed()
    guide = HierarchicalSelector(solver, GOAL, make_stream(0), replan_interval=10)
    told = [guide(START, step) for step in (0, 5, 10, 15, 25)]
    assert [word for _, word in told] == ["macro", "held", "macro", "held", "macro"]
    assert_array_equal(
        [latent for latent, _ in told], [[1, 0], [1, 0], [2, 0], [2, 0], [3, 0]]
    )
    assert solver.around == [None, None, None]


@pytest.mark.parametrize("macro_steps", [1, 2])
def test_warm_starts_are_what_was_left(macro_steps):
    """The next search starts from all macro actions but the first."""
    solver = Fixed(macro_steps)
    guide = HierarchicalSelector(solver, GOAL, make_stream(0), warm_start=True)
    guide(START, 0)
    guide(START, 5)
    assert solver.around[0] is None
    assert_array_equal(solver.around[1], np.ones((macro_steps - 1, 2)))


@pytest.mark.parametrize(("distance", "switch"), [(25, 13), (50, 25), (75, 38)])
def test_stages_switch_once(distance, switch):
    """One search; its two latents are held for ceil(d / 2) frames, then to the end."""
    settings = hierarchy_settings(STAGED, distance, macro_steps=2)
    assert settings.stage_frames == switch
    assert settings.cuts == (switch,)
    solver = Fixed()
    guide = StagedSelector(
        solver, GOAL, make_stream(0), stage_frames=settings.stage_frames
    )
    for step in range(2 * distance):
        latent, word = guide(START, step)
        stage = int(step >= switch)
        assert_array_equal(latent, [1, stage])
        assert word == f"stage {stage + 1}"
    assert len(solver.around) == 1


def test_the_bank_stays_inside_episodes():
    """Sequences are different, never cross an episode's end, never touch a NaN."""
    model = make_frozen()
    recorded = make_recorded()
    bank = build_bank(recorded, model, make_macro(model), macro_steps=1, size=95)
    ends = np.cumsum(recorded.lengths)
    assert bank.sequences.shape == (95, 1, 4)
    assert len(np.unique(bank.starts)) == 95  # 35 + 5 + 0 + 55, all there are
    for start, episode in zip(bank.starts, bank.episodes, strict=True):
        assert ends[episode] - recorded.lengths[episode] <= start
        assert start + 25 < ends[episode]
    assert set(bank.episodes) == {0, 1, 3}


def test_the_bank_encodes_what_was_recorded():
    """A sequence is its chunks, each encoded alone; the seed decides the draw."""
    model, recorded = make_frozen(), make_recorded()
    macro = make_macro(model)
    banks = [
        build_bank(recorded, model, macro, macro_steps=2, size=10, seed=seed)
        for seed in (0, 0, 1)
    ]
    assert_array_equal(banks[0].starts, banks[1].starts)
    assert (banks[0].starts != banks[2].starts).any()
    first = banks[0].starts[4]
    second = torch.from_numpy(recorded.actions[first + 25 : first + 50])
    expected = macro.encode(second.reshape(1, 5, 10))[0]
    torch.testing.assert_close(banks[0].sequences[4, 1], expected)


def test_the_bank_can_leave_an_episode_out():
    """No sequence of the query's episode is left; all others are."""
    left = make_bank().without(2)
    assert len(left.sequences) == 30
    assert 2 not in left.episodes
    alone = replace(make_bank(), episodes=np.zeros(40, dtype=np.int64))
    message = "Without episode 0 the bank is empty. Record more episodes."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        alone.without(0)


def test_too_few_sequences_are_told():
    """No sequence is drawn twice to fill a bank, and no box is guessed."""
    model, recorded = make_frozen(), make_recorded()
    macro = make_macro(model)
    message = (
        "96 sequences of 25 actions were asked for; the corpus has 95. Record more or "
        "longer episodes, or plan fewer macro steps."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        build_bank(recorded, model, macro, macro_steps=1, size=96)
    with pytest.raises(ModelError, match=r"^2048 sequences of 25 actions"):
        calibrate_box(recorded, model, macro)
    message = "A box needs at least 64 chunks, asked for 63."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        calibrate_box(recorded, model, macro, num_chunks=63)


def test_the_box_is_made_of_percentiles():
    """5th and 95th percentile, 5 % wider on both sides, within 3."""
    model, recorded = make_frozen(), make_recorded()
    macro = make_macro(model)
    box = calibrate_box(recorded, model, macro, num_chunks=95)
    bank = build_bank(recorded, model, macro, macro_steps=1, size=95)
    codes = bank.sequences[:, 0].numpy()
    low, high = np.quantile(codes, [0.05, 0.95], axis=0)
    expected = [low - 0.05 * (high - low), high + 0.05 * (high - low)]
    np.testing.assert_allclose(box, np.clip(expected, -3, 3), rtol=1e-3, atol=1e-4)


def test_a_bank_of_other_plans_is_told():
    """Sequences must have as many macro steps as plans."""
    message = (
        "The bank's sequences must be [K, 2, 2], got [40, 1, 2]. Build it for 2 macro "
        "steps."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        BankCEM(Drifting(), SEARCH, make_bank(steps=1))
    message = "drifting plans between latents of shape (2,), got (2,) and (3,)."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        LatentCEM(Drifting(), SEARCH).solve(START, np.zeros(3), make_stream(0))


class Recording(CEM):
    """A micro search that remembers where it started, and plans its own number."""

    def __init__(self):
        self.around = []

    def plan(self, observed, target, streams, around=None):
        """Return blocks full of the number of this call, the second negative."""
        self.around.append(around.copy())
        number = len(self.around)
        plans = np.full((len(observed), 2, 10), number, np.float32)
        plans[:, 1] *= -1
        return plans


def make_micro_planner(**settings):
    actor = RecedingPlanner(
        make_frozen(), CEMSettings(2), [3, 4], action_stats=ACTION_STATS, **settings
    )
    actor._cem = Recording()
    return actor


def test_the_micro_level_starts_from_what_it_left():
    """One block is executed; the other is the next first mean, of its query alone."""
    actor, z = make_micro_planner(), np.zeros((2, 8))
    actions = actor.plan(z, z, [0, 1])
    assert_array_equal(actions, np.ones((2, 5, 2)))
    actor.plan(z[:1], z[:1], [1])
    assert_array_equal(actor._cem.around[0], np.zeros((2, 2, 10)))
    assert_array_equal(actor._cem.around[1][0], [[-1] * 10, [0] * 10])
    actor.plan(z, z, [0, 1])
    assert_array_equal(actor._cem.around[2][:, 0, 0], [-1, -2])


def test_a_stage_cuts_the_block_and_forgets_the_plan():
    """Blocks of 5, 5, 3 frames until 13; then 5 each, from nothing at first."""
    actor, z = make_micro_planner(cuts=(13,)), np.zeros((2, 8))
    frames = [actor.plan(z, z, [0, 1]).shape[1] for _ in range(6)]
    assert frames == [5, 5, 3, 5, 5, 5]
    firsts = [around[0, 0, 0] for around in actor._cem.around]
    assert firsts == [0, -1, -2, 0, -4, -5]


def test_a_micro_search_can_start_anywhere():
    """The first candidate of a search is the mean that was given."""
    world = Drifting()
    around = np.full((1, 2, 2), 9.0)
    settings = CEMSettings(2, num_samples=8, num_elites=2, iterations=1)
    cem = CEM(world, settings)
    cem.plan(START[None], GOAL[None], [make_stream(0)], around)
    assert_array_equal(world.asked[0][0], around[0])


@pytest.mark.parametrize(
    ("distance", "macro", "micro"),
    [
        (25, (900, 20, 10), (300, 30, 150)),
        (50, (1500, 40, 10), (900, 30, 150)),
        (75, (1200, 60, 10), (1200, 30, 150)),
    ],
)
def test_budgets_are_the_published_ones(distance, macro, micro):
    """Samples, iterations and elites of both levels; two micro blocks, every 5."""
    for variant in (FREE, BANKED):
        chosen = hierarchy_settings(variant, distance, macro_steps=1)
        high, low = chosen.macro, chosen.micro
        assert (high.num_samples, high.iterations, high.num_elites) == macro
        assert (low.num_samples, low.iterations, low.num_elites) == micro
        assert (low.plan_blocks, chosen.replan_interval) == (2, 5)
        assert (chosen.bank_size, chosen.cuts) == (65_536, ())
        assert not chosen.leave_one_out
        assert not chosen.clip_to_box


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: hierarchy_settings(FREE, 30, macro_steps=1),
            "The published budgets are for goal distances 25, 50, 75; got 30. Choose "
            "one of them, or make HierarchySettings of your own in Python.",
        ),
        (
            lambda: hierarchy_settings(STAGED, 25, macro_steps=1),
            "hi-lewm-c-staged has 2 stages, so macro_steps must be 2; got 1.",
        ),
        (
            lambda: hierarchy_settings(FREE, 25, macro_steps=1, leave_one_out=True),
            "leave_one_out belongs to methods with a bank; hi-lewm has none.",
        ),
        (
            lambda: hierarchy_settings(BANKED, 25, macro_steps=1, clip_to_box=True),
            "clip_to_box belongs to methods without a bank; hi-lewm-c draws from one.",
        ),
        (
            lambda: MacroSearch(5, 64, 6, 8),
            "macro_steps must be in [1, 4], got 5.",
        ),
        (
            lambda: MacroSearch(1, 64, 6, 65),
            "num_elites must be in [2, 64], got 65.",
        ),
        (
            lambda: MacroSearch(1, 64, 0, 8),
            "iterations must be at least 1, got 0.",
        ),
    ],
)
def test_wrong_settings_are_told(make, message):
    """What would have been valid, and what it was."""
    with pytest.raises(BenchmarkError, match=f"^{re.escape(message)}$"):
        make()


def test_own_settings_can_be_made():
    """Any budget goes, if it is written out."""
    chosen = HierarchySettings(BANKED, 30, SEARCH, CEMSettings(2), bank_size=100)
    assert chosen.variant.has_bank
    assert chosen.stage_frames == 15

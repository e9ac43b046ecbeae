"""Fixtures that several test files use."""

import os
import signal
from contextlib import suppress

import pytest
from extras import HEAVY, complaint, missing_modules

import metro
from metro import PricingCurve, build_graph, find_neighbours
from metro.errors import WorldError
from perf.synthetic import make_latents

MISSING = missing_modules()

collect_ignore = list(HEAVY) if MISSING else []

if not MISSING:
    from metro.envs.rendering import find_mujoco_renderer

    with suppress(WorldError):  # the tests that draw say so themselves
        find_mujoco_renderer()  # MuJoCo reads the choice when it is imported


def pytest_configure():
    """Refuse to leave tests out where everything is said to be installed."""
    reason = complaint(MISSING, os.environ)
    if reason is not None:
        raise pytest.UsageError(reason)
    # A shell's background jobs ignore Ctrl-C, and what they start does too: the tests
    # that send one would wait for nothing.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header():
    """Say which tests are left out, and why."""
    left_out = f"{', '.join(collect_ignore)} are left out, without {', '.join(MISSING)}"
    return [left_out] if MISSING else []


@pytest.fixture(scope="session")
def rooms():
    """Latents of 30 synthetic episodes through two rooms."""
    return make_latents(30 * 60, state_dim=2, episode_length=60, dim=24, seed=3)


@pytest.fixture(scope="session")
def rooms_graph(rooms):
    """Their graph, with H = 8."""
    return build_graph(rooms, find_neighbours(rooms), PricingCurve.fit(rooms, 8))


@pytest.fixture
def saved(tmp_path, rooms_graph):
    """That graph on disk."""
    metro.save(rooms_graph, tmp_path / "rooms.metro")
    return tmp_path / "rooms.metro"


@pytest.fixture
def columns():
    """Columns of three short episodes."""
    from corpus_makers import make_columns

    return make_columns()


@pytest.fixture(scope="session")
def tworoom_folder(tmp_path_factory):
    """Twelve recorded episodes of TwoRoom with latents and graph; do not write there.

    Files: ``tworoom.h5``, ``tworoom.latents``, ``tworoom.metro`` (H = 8), made with
    the model ``lewm-small-tworoom``.
    """
    from corpus_makers import record_tworoom

    return record_tworoom(tmp_path_factory.mktemp("tworoom"))

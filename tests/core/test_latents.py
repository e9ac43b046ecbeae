"""Latents: what is taken, what is refused, and with which words."""

import re

import numpy as np
import pytest

import metro
from metro.errors import GraphError, LatentsError


def refuses(message):
    return pytest.raises(LatentsError, match=f"^{re.escape(message)}$")


def test_episodes_are_rows_one_after_another():
    """from_episodes concatenates, and offsets say where each episode starts."""
    a, b = np.zeros((2, 3)), np.ones((1, 3))
    latents = metro.Latents.from_episodes([a, b])
    assert latents.episode_offsets.tolist() == [0, 2, 3]
    assert latents.z.tolist() == [[0] * 3, [0] * 3, [1] * 3]
    assert (latents.num_frames, latents.dim, latents.num_episodes) == (3, 3, 2)
    assert latents.episode_of([0, 1, 2]).tolist() == [0, 0, 1]
    assert latents.step_of([0, 1, 2]).tolist() == [0, 1, 0]
    assert repr(latents) == "Latents(num_frames=3, dim=3, num_episodes=2)"


@pytest.mark.parametrize(
    "change",
    [
        lambda z: z.astype(np.float64),
        lambda z: np.asfortranarray(z),
        lambda z: np.repeat(z, 2, axis=0)[::2],
        lambda z: z.astype(np.float16),
        lambda z: z.astype(np.int64),
        lambda z: z.tolist(),
    ],
)
def test_any_real_array_gives_the_same_corpus(change):
    """float64, non-contiguous, half, whole numbers and lists are all welcome."""
    z = np.arange(12, dtype=np.float32).reshape(6, 2)
    latents = metro.Latents(change(z), [0, 4, 6])
    assert latents.z.dtype == np.float32
    assert latents.z.flags.c_contiguous
    assert latents.digest == metro.Latents(z, np.array([0, 4, 6])).digest


def test_read_only_input_works_and_latents_are_read_only():
    """Nothing that metro keeps can be changed, and the caller's array stays his."""
    z = np.zeros((4, 2), dtype=np.float32)
    latents = metro.Latents(z, [0, 4])
    assert z.flags.writeable
    z.setflags(write=False)
    metro.Latents(z, [0, 4])
    with pytest.raises(ValueError, match="read-only"):
        latents.z[0] = 1


def test_nan_and_infinite_are_counted_and_located():
    """The message says how many rows and which is the first."""
    z = np.zeros((10, 2))
    z[7, 1], z[4, 0], z[4, 1] = np.nan, np.inf, -np.inf
    message = (
        "2 of 10 latents have NaN or infinite values (in float32), the first in row 4. "
        "Re-encode those frames or drop the episodes."
    )
    with refuses(message):
        metro.Latents(z, [0, 10])


def test_too_large_for_float32_is_infinite():
    """1e39 does not fit into float32 and is not passed on as infinity."""
    with pytest.raises(LatentsError, match="first in row 1"):
        metro.Latents([[0.0], [1e39]], [0, 2])


@pytest.mark.parametrize(
    ("z", "offsets", "message"),
    [
        (np.zeros((0, 2)), [0], "The corpus is empty: got 0 frames, need at least 1."),
        (np.zeros(4), [0, 4], "Latents must have shape [N, D], got (4,)."),
        (np.zeros((4, 0)), [0, 4], "Latents must have shape [N, D], got (4, 0)."),
        (
            np.zeros((4, 2), dtype=complex),
            [0, 4],
            "Latents must hold real numbers, got dtype complex128.",
        ),
        (
            np.zeros((4, 2)),
            [0, 3],
            "episode_offsets must run from 0 to the 4 rows of the latents, "
            "got 0 to 3, all within [0, 3].",
        ),
        (
            np.zeros((4, 2)),
            [1, 4],
            "episode_offsets must run from 0 to the 4 rows of the latents, "
            "got 1 to 4, all within [1, 4].",
        ),
        (
            np.zeros((4, 2)),
            [0, 2**62, -(2**63), -(2**62), 4],
            "episode_offsets must run from 0 to the 4 rows of the latents, "
            "got 0 to 4, all within [-9223372036854775808, 4611686018427387904].",
        ),
        (
            np.zeros((4, 2)),
            [0, 2, 2, 4],
            "Every episode needs at least 1 frame; episode 1 has 0 (1 such of 3).",
        ),
        (
            np.zeros((4, 2)),
            [0, 3, 2, 4],
            "Every episode needs at least 1 frame; episode 1 has -1 (1 such of 3).",
        ),
        (
            np.zeros((4, 2)),
            [0.0, 4.0],
            "episode_offsets must be [M + 1] integers with M >= 1, "
            "got shape (2,) of float64.",
        ),
    ],
)
def test_what_cannot_be_latents(z, offsets, message):
    """Every refusal says what is wrong and what we got."""
    with refuses(message):
        metro.Latents(z, offsets)


def test_episodes_that_do_not_fit():
    """No episodes, episodes of nothing, and episodes of different sizes."""
    with refuses("The corpus is empty: got 0 episodes, need at least 1."):
        metro.Latents.from_episodes([])
    with refuses(
        "Every episode needs at least 1 frame; episode 1 has 0 (1 such of 2)."
    ):
        metro.Latents.from_episodes([np.zeros((2, 3)), np.zeros((0, 3))])
    with refuses(
        "Every episode must have shape [steps, D] with one D for all; "
        "episode 1 has shape (2, 4), episode 0 has (2, 3)."
    ):
        metro.Latents.from_episodes([np.zeros((2, 3)), np.zeros((2, 4))])


def test_lists_that_are_no_arrays():
    """Rows of several lengths, in an episode, in the rows, or as a goal."""
    ragged = [[1.0, 2.0], [3.0]]
    with refuses("Episode 1 must be one array, got lists of different lengths."):
        metro.Latents.from_episodes([[[1.0, 2.0]], ragged])
    with refuses("Latents must be one array, got lists of different lengths."):
        metro.Latents(ragged, [0, 2])
    latents = metro.Latents([[1.0, 2.0]], [0, 1])
    with refuses("goal must be one array, got lists of different lengths."):
        latents.require_vector("goal", ragged)


def test_one_array_is_no_list_of_episodes():
    """The likely mistake is named, with both cures."""
    message = (
        "from_episodes takes a list of arrays [steps, D], one per episode; got one "
        "array of shape (6, 2). For one episode give [rows], for rows of many "
        "Latents(rows, episode_offsets)."
    )
    with refuses(message):
        metro.Latents.from_episodes(np.zeros((6, 2)))
    assert metro.Latents.from_episodes(np.zeros((3, 6, 2))).num_episodes == 3


def test_contiguous_rows_are_not_copied():
    """As the class says: a corpus of many GB is not held twice."""
    z = np.zeros((4, 2), dtype=np.float32)
    assert np.shares_memory(metro.Latents(z, [0, 4]).z, z)


def test_subset_keeps_whole_episodes_in_order():
    """A subset is made of the rows of its episodes."""
    latents = metro.Latents(np.arange(10).reshape(5, 2), [0, 2, 3, 5])
    subset = latents.subset([2, 0])
    assert subset.z.tolist() == [[6, 7], [8, 9], [0, 1], [2, 3]]
    assert subset.episode_offsets.tolist() == [0, 2, 4]
    with refuses("A subset needs at least 1 episode, got 0."):
        latents.subset([])
    with pytest.raises(GraphError, match=r"episode must be an episode in \[0, 3\)"):
        latents.subset([3])


def test_digest_depends_on_rows_and_offsets():
    """Other rows or other episodes are another corpus."""
    z = np.arange(8).reshape(4, 2)
    digests = {
        metro.Latents(z, [0, 4]).digest,
        metro.Latents(z, [0, 2, 4]).digest,
        metro.Latents(z + 1, [0, 4]).digest,
    }
    assert len(digests) == 3


def test_lengths_whose_sum_wraps_around_are_refused():
    """Four lengths of 2^62 add up to 0 in 64 bits: no length may be that large."""
    lengths = np.array([2**62, 2**62, 2**62, 2**62 + 4])
    with refuses(
        "Every episode length must be within [0, 2147483647], "
        "episode 0 has 4611686018427387904."
    ):
        metro.core.latents.offsets_from_lengths(lengths)


def test_lengths_are_numbers_and_not_times():
    """NumPy calls durations integers."""
    message = "Episode lengths must be a 1-d array of integers, got shape (2,) of "
    with refuses(f"{message}timedelta64[s]."):
        metro.core.latents.offsets_from_lengths(np.array([3, 3], dtype="m8[s]"))

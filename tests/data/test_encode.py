"""Laws of `metro.data.encode`."""

import re
import threading

import numpy as np
import pytest
import torch
from model_makers import make_footage, make_model
from numpy.testing import assert_allclose, assert_array_equal

import metro
from metro.data.corpus import open_corpus
from metro.data.encode import encode_corpus
from metro.errors import LatentsError, StorageError
from metro.models.devices import choose_device, encoder_flops, measure_peak
from metro.storage import parts as stored_parts


@pytest.fixture
def footage():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


@pytest.fixture
def corpus(footage, tmp_path):
    """Its corpus, opened."""
    folder = tmp_path / "dots"
    folder.mkdir()
    np.save(folder / "pixels.npy", footage.pixels)
    np.save(folder / "action.npy", footage.actions)
    np.save(folder / "ep_len.npy", footage.lengths)
    with open_corpus(folder) as opened:
        yield opened


@pytest.fixture
def model():
    """A tiny model with random weights."""
    return make_model(notes={"name": "tiny"})


def test_every_frame_has_its_latent(corpus, model, footage, tmp_path):
    """Row by row what the model encodes, episode by episode, stored as latents."""
    done = []
    result = encode_corpus(
        corpus, model, tmp_path / "dots.latents", progress=lambda *at: done.append(at)
    )
    assert done[-1] == (360, 360)
    latents = metro.load(tmp_path / "dots.latents", verify=True)
    assert_allclose(latents.z, model.encode(footage.pixels), atol=1e-6)
    assert_array_equal(latents.episode_lengths, footage.lengths)
    assert latents.digest == result.latents.digest
    assert result.frames_per_second > 0
    assert 0 < result.share_of_peak < 1


def test_latents_say_where_they_come_from(corpus, model, tmp_path):
    """The manifest has both digests, so that other encoders can be refused."""
    encode_corpus(corpus, model, tmp_path / "dots.latents")
    provenance = metro.load(tmp_path / "dots.latents").provenance
    assert provenance["model"]["digest"] == model.digest
    assert provenance["corpus"]["digest"] == corpus.digest
    assert provenance["benchmark"] == "tworoom"
    assert provenance["rendering"] == "stock"


def test_threads_take_whole_episodes(corpus, model, tmp_path, monkeypatch):
    """They do not share one; their number is restored, and decides no byte."""
    encode, used = type(model).encode, []

    def watch(self, frames):
        used.append((torch.get_num_threads(), threading.get_ident()))
        return encode(self, frames)

    monkeypatch.setattr(type(model), "encode", watch)
    before, digests = torch.get_num_threads(), set()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            result = encode_corpus(corpus, model, tmp_path / f"{threads}.latents")
            digests.add(result.latents.digest)
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert {threads for threads, _ in used} == {1}
    assert threading.get_ident() not in {thread for _, thread in used}
    assert len(digests) == 1


def test_models_of_others_are_called_from_this_thread_only(corpus, tmp_path):
    """One episode at a time: they need not stand more."""

    class Own:
        digest, rendering, image_size, action_size = "own", "stock", 16, 2

        def encode(self, frames):
            assert threading.current_thread() is threading.main_thread()
            return frames.reshape(len(frames), -1)[:, :4].astype(np.float32)

    result = encode_corpus(corpus, Own(), tmp_path / "own.latents")
    assert result.latents.z.shape == (360, 4)
    assert result.share_of_peak is None


def test_interrupted_encoding_goes_on(corpus, model, tmp_path, monkeypatch):
    """What was encoded before Ctrl-C is not encoded again; the bytes are the same."""
    whole = encode_corpus(corpus, model, tmp_path / "whole.latents").latents
    path = tmp_path / "parts.latents"

    def press(done, _):
        if done >= 150:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_corpus(corpus, model, path, progress=press)
    assert not path.exists()
    steps = []
    resumed = encode_corpus(
        corpus, model, path, progress=lambda done, _: steps.append(done)
    )
    assert steps[0] == 180
    assert resumed.latents.digest == whole.digest
    assert not (tmp_path / "parts.latents.parts").exists()


def test_parts_of_another_model_are_thrown_away(corpus, model, tmp_path):
    """Resuming with another model starts from the first frame."""
    path = tmp_path / "dots.latents"

    def press(done, _):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_corpus(corpus, model, path, progress=press)
    other = make_model()
    with torch.no_grad():
        other.network.projector.net[3].bias += 1
    other = type(other)(other.network, family="lewm", benchmark="tworoom")
    steps = []
    encode_corpus(corpus, other, path, progress=lambda done, _: steps.append(done))
    assert steps[0] == 30


def test_parts_are_written_every_few_seconds(corpus, model, tmp_path, monkeypatch):
    """A kill loses little: parts are on disk before the end."""
    monkeypatch.setattr(stored_parts, "_EVERY_SECONDS", 0.0)
    counts = []
    parts = tmp_path / "dots.latents.parts"
    encode_corpus(
        corpus,
        model,
        tmp_path / "dots.latents",
        progress=lambda *_: counts.append(len(list(parts.glob("part-*.npz")))),
    )
    assert counts == list(range(1, 13))


def interrupt(corpus, model, path, *, after):
    """Encode until ``after`` frames are done."""

    def press(done, _):
        if done >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        encode_corpus(corpus, model, path, progress=press)


def test_parts_name_their_frames(corpus, model, tmp_path):
    """Parts in the wrong order, twice, or with one of them missing: the same bytes."""
    whole = encode_corpus(corpus, model, tmp_path / "whole.latents").latents
    path, folder = tmp_path / "dots.latents", tmp_path / "dots.latents.parts"
    for after in (90, 200, 300):
        interrupt(corpus, model, path, after=after)
    first, second, third = folder.glob("part-*.npz")
    first.unlink()
    second.rename(folder / "part-z.npz")
    third.with_name("part-0.npz").write_bytes(third.read_bytes())
    assert encode_corpus(corpus, model, path).latents.digest == whole.digest


def test_damaged_parts_are_encoded_again(corpus, model, tmp_path):
    """Without force: a warning, and the same bytes."""
    whole = encode_corpus(corpus, model, tmp_path / "whole.latents").latents
    path = tmp_path / "dots.latents"
    interrupt(corpus, model, path, after=90)
    (part,) = (tmp_path / "dots.latents.parts").glob("part-*.npz")
    part.write_bytes(part.read_bytes()[:-7])
    with pytest.warns(RuntimeWarning, match="^1 of the parts in .* were damaged"):
        resumed = encode_corpus(corpus, model, path)
    assert resumed.latents.digest == whole.digest


def test_one_process_encodes_to_a_file(corpus, model, tmp_path):
    """A second one learns so at once, and the first is not disturbed."""
    path = tmp_path / "dots.latents"

    def encode_too(*_):
        with pytest.raises(StorageError, match="is being written by process"):
            encode_corpus(corpus, model, path)

    encode_corpus(corpus, model, path, progress=encode_too)
    assert [file.name for file in tmp_path.glob(".*")] == []


def test_latents_are_all_of_one_size(corpus, tmp_path):
    """A model that returns other numbers for other episodes is refused."""

    class Growing:
        digest, rendering, image_size, action_size = "own", "stock", 16, 2
        size = 0

        def encode(self, frames):
            self.size += 1
            return np.ones((len(frames), self.size), np.float32)

    with pytest.raises(LatentsError, match="have 1 numbers for some frames and 2 for"):
        encode_corpus(corpus, Growing(), tmp_path / "own.latents")


@pytest.mark.parametrize("place", ["file/dots.latents", "/proc/nowhere/dots.latents"])
def test_an_unwritable_place_is_one_error_before_any_work(
    corpus, model, tmp_path, place
):
    """In words, not in numbers of the system."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"^[^\n[]*dots.latents cannot be [^\n[]*$"):
        encode_corpus(
            corpus, model, tmp_path / place, progress=lambda *_: pytest.fail("encoded")
        )


def test_latents_are_not_overwritten(corpus, model, tmp_path):
    """Existing latents are replaced by force only, and before any work."""
    path = tmp_path / "dots.latents"
    encode_corpus(corpus, model, path)
    message = f"{path} exists already. Replace it with force=True (--force)."
    with pytest.raises(StorageError, match=f"^{re.escape(message)}$"):
        encode_corpus(corpus, model, path, progress=lambda *_: pytest.fail("encoded"))
    encode_corpus(corpus, model, path, force=True)


def test_speed_is_counted_in_products(model):
    """The encoder's operations are those of its layers."""
    stem, second = 8 * 8 * 8 * 27, 4 * 4 * 16 * 72
    projector = 256 * 32 + 32 * 8
    assert encoder_flops(model) == 2 * (stem + second + projector)
    assert measure_peak("cpu") > 1e9


def test_the_device_can_be_chosen():
    """A name that is given is taken; else there is always the CPU."""
    assert choose_device("cpu") == "cpu"
    assert choose_device(None) in ("cpu", "cuda", "mps")

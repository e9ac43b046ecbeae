"""Laws of models that users bring: wrapped once, they plan as ours do."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from model_makers import make_model
from torch import nn

from metro.core.graph import build_graph
from metro.core.latents import Latents
from metro.core.neighbours import find_neighbours
from metro.core.pricing import PricingCurve
from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.adapter import (
    PlannableModel,
    as_world_model,
    import_model,
    known_digest,
    require_frozen,
)
from metro.models.loading import load_model
from metro.planners.cem import CEM, CEMSettings, make_stream
from metro.planners.policy import MetroPolicy
from metro.testing import check_world_model

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "your-model.md"


class Drifting:
    """The least that a world model needs: a latent that actions move, in NumPy."""

    action_size, action_block = 2, 5

    def encode(self, frames):
        """Return the mean colour of every frame."""
        return frames.mean(axis=(1, 2)).astype(np.float32) / 255

    def rollout(self, z, actions):
        """Return the latents moved by the sum of all actions so far."""
        moves = np.cumsum(actions.sum(axis=2), axis=1)
        return z[:, None] + 0.1 * moves[..., None]


class DriftingModule(nn.Module):
    """The same as a torch module, which is given tensors."""

    action_size, action_block = 2, 5

    def __init__(self):
        super().__init__()
        self.rate = nn.Parameter(torch.tensor(0.1))

    def encode(self, frames):
        """Return the mean colour of every frame."""
        return frames.float().mean(dim=(1, 2)) / 255

    def rollout(self, z, actions):
        """Return the latents moved by the sum of all actions so far."""
        moves = actions.sum(dim=2).cumsum(dim=1)
        return z[:, None] + self.rate * moves[..., None]


class Module(nn.Module):
    """What `MyModel` wraps: an encoder and dynamics of 96-pixel frames."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.features = nn.Linear(3 * 8 * 8, 128)
        self.step = nn.Linear(128 + 10, 128)

    def encoder(self, images):
        """Return latents ``[N, 128]``."""
        small = nn.functional.adaptive_avg_pool2d(images, 8)
        return self.features(small.flatten(1))

    def dynamics(self, z, action):
        """Return the latents one block later."""
        return z + 0.1 * self.step(torch.cat([z, action], dim=1))


class MyModel:
    """The class that docs/bring-your-own.md of version 0.1 showed, verbatim."""

    latent_size, action_size, action_block = 128, 2, 5
    image_size, rendering, digest = 96, "stock", "my-model-v1"

    def __init__(self, module):
        self.module = module.eval().requires_grad_(False)

    @torch.no_grad()
    def encode(self, frames):
        """Return latents ``[N, 128]``."""
        images = torch.from_numpy(frames).permute(0, 3, 1, 2) / 255
        return self.module.encoder(images).numpy()

    @torch.no_grad()
    def rollout(self, z, actions):
        """Return the latents after every block."""
        z, steps = torch.as_tensor(z), []
        for action in torch.as_tensor(actions).unbind(1):
            z = self.module.dynamics(z, action)
            steps.append(z)
        return torch.stack(steps, 1).numpy()


def torch_wrapper():
    """Return a NumPy class around a torch module."""
    return MyModel(Module())


def documented_model():
    """Return an object of the class that the tutorial shows, verbatim."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    code = next(block for block in blocks if "class DotModel" in block)
    names = {}
    exec(code, names)
    return names["DotModel"](ActionStats([0.0, 0.0], [1.0, 1.0]))


def make_graph(model, num_frames=60):
    """Return the graph of two episodes of random frames."""
    rng = np.random.default_rng(0)
    size = model.image_size or 16
    frames = rng.integers(0, 256, (num_frames, size, size, 3), dtype=np.uint8)
    z = model.encode(frames)
    latents = Latents(z, np.array([0, num_frames // 2, num_frames]))
    pricing = PricingCurve.fit(latents, 8)
    return frames, build_graph(latents, find_neighbours(latents), pricing)


@pytest.mark.parametrize(
    "make", [Drifting, DriftingModule, torch_wrapper, documented_model]
)
def test_whatever_keeps_the_contract_plans(make):
    """A model with the two methods and two numbers plans, also the one of the docs."""
    check_world_model(make())
    model = as_world_model(make())
    frames, graph = make_graph(model)
    stats = ActionStats([0.5, 0.0], [1.0, 2.0])
    settings = CEMSettings(plan_blocks=1, num_samples=20, num_elites=3, iterations=2)
    policy = MetroPolicy(
        graph, make(), settings=settings, action_stats=stats, trust_graph=True
    )
    action = policy.act(frames[0], goal=frames[50])
    assert action.shape == (2,)
    assert np.isfinite(action).all()


@pytest.mark.parametrize("make", [Drifting, DriftingModule])
def test_torch_in_torch_out_numpy_in_numpy_out(make):
    """What comes back is of the kind that was given, always float32."""
    model = as_world_model(make())
    z, actions = np.zeros((2, 3), np.float32), np.ones((2, 4, 10), np.float32)
    given = model.rollout(torch.from_numpy(z), torch.from_numpy(actions))
    found = model.rollout(z, actions)
    assert isinstance(given, torch.Tensor)
    assert isinstance(found, np.ndarray)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(given.numpy(), found)


def test_numpy_and_torch_models_plan_the_same():
    """The same dynamics give the same plan, whichever library computes them."""
    ends = np.zeros((1, 3), np.float32), np.ones((1, 3), np.float32)
    settings = CEMSettings(plan_blocks=2, iterations=3)
    plans = [
        CEM(as_world_model(make()), settings).plan(*ends, [make_stream(0)])
        for make in (Drifting, DriftingModule)
    ]
    np.testing.assert_allclose(*plans, atol=1e-5)


def test_our_own_models_pass_unchanged():
    """A frozen model and a wrapped one come back as they are."""
    frozen, wrapped = make_model(), as_world_model(Drifting())
    assert as_world_model(frozen) is frozen
    assert as_world_model(wrapped) is wrapped


def test_what_a_model_does_not_say_is_unknown():
    """Every optional attribute has an explicit value; the model gets none of them."""
    drifting = Drifting()
    model = PlannableModel(drifting)
    unknown = (model.benchmark, model.image_size, model.latent_size, model.rendering)
    assert (*unknown, model.digest, model.action_stats) == (None,) * 6
    assert (model.name, model.family, model.notes) == ("Drifting", "own", {})
    assert str(model.to("cpu").device) == "cpu"
    assert vars(drifting) == {}


def test_what_a_model_says_is_kept():
    """Optional attributes are read from the model."""
    said = {"name": "mine", "digest": "v1", "image_size": 32, "benchmark": "tworoom"}
    model = as_world_model(
        SimpleNamespace(
            encode=None, rollout=None, action_size=2, action_block=5, **said
        )
    )
    assert {name: getattr(model, name) for name in said} == said


def test_a_factory_makes_a_model(tmp_path, monkeypatch):
    """``package.module:factory`` is imported and called, also by `load_model`."""
    (tmp_path / "my_models.py").write_text(
        "from test_adapter_model import Drifting\n\n\ndef load():\n"
        "    return Drifting()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(
        sys.modules, "test_adapter_model", SimpleNamespace(Drifting=Drifting)
    )
    assert isinstance(import_model("my_models:load"), PlannableModel)
    assert load_model("my_models:load").name == "Drifting"
    assert load_model(Drifting()).name == "Drifting"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: as_world_model(SimpleNamespace(encode=None)),
            "SimpleNamespace is not a world model: it has no rollout, action_size, "
            "action_block. See docs/tutorials/your-model.md.",
        ),
        (
            lambda: load_model("no_such_package.models:load"),
            "There is no model 'no_such_package.models:load': No module named "
            "'no_such_package'. Give package.module:factory, with the package "
            "installed or on PYTHONPATH.",
        ),
    ],
)
def test_what_is_no_model_is_refused(call, message):
    """The message says what is missing and where to read on."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        call()


def test_what_needs_a_network_refuses_other_models():
    """Hierarchies and gradients need more than two methods, and say so."""
    frozen = make_model()
    assert require_frozen(frozen, "hi-lewm") is frozen
    message = (
        "hi-lewm needs the network of a LeWM or PLDM, got a model of Drifting. Plan "
        "with metro or flat."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        require_frozen(as_world_model(Drifting()), "hi-lewm")


def test_a_model_without_digest_says_so():
    """Latents of a known model are compared, those of an unknown one are trusted."""
    frozen = make_model()
    assert known_digest(frozen) == frozen.digest
    with pytest.warns(UserWarning, match="^Drifting has no digest"):
        assert known_digest(as_world_model(Drifting())) is None

"""Small healthy models, spoiled at random and loaded: one line or an answer.

A model of ours, a macro model and a released folder; and checkpoints of training, which
must be discarded with one warning.
"""

import copy
import json
import struct
import warnings

from alterations import TEXTS, spoil_bytes, spoil_place, spoil_text
from forking import in_fresh_process
from opening import Kind, main

VALUES = (
    *(None, True, -1, 0, 1, 1.5, 7, 10**7, 2**31, 2**62, 2**63, 10**400, 1e300),
    *(float("nan"), float("inf"), "", "x", "vit", "x" * 5_000, "a\nb", "\ud800"),
    *([], [[]], [1, 2], [0], [2**62], ["a"] * 9, [3] * 20_000, {}, {"a": 1}),
)
"""What a value of JSON is replaced by."""


def campaign(seed: int, seconds: float, most: int = 10**9) -> dict[str, int]:
    """Return counts of every kind of model and of checkpoints.

    Args:
        seed: Of the alterations.
        seconds: How long to go on, for all kinds together.
        most: Number of tries of every kind.
    """
    return in_fresh_process(__file__, seed, seconds, most)


def make_ours(path):
    """Write a tiny model of ours that knows its actions."""
    from macro_makers import make_frozen

    from metro.models.weights import save_model

    save_model(make_frozen(notes={"name": "tiny"}), path)


def make_macro(path):
    """Write a tiny macro model."""
    import macro_makers

    from metro.models.macro.macro_weights import save_macro

    save_macro(macro_makers.make_macro(), path)


def make_released(path):
    """Write a released folder: the ViT is as published, all else is small."""
    import torch
    from model_makers import scramble
    from release_makers import released_config

    from metro.models.configs import read_config
    from metro.models.key_names import to_released
    from metro.models.networks import WorldModelNetwork

    config = released_config()
    config["predictor"] |= {"depth": 1, "heads": 2, "dim_head": 8, "mlp_dim": 16}
    for part in ("projector", "pred_proj"):
        config[part]["hidden_dim"] = 16
    (path.with_name("config.json")).write_text(json.dumps(config, indent=1))
    network = WorldModelNetwork(read_config(path.with_name("config.json"))[1])
    scramble(network)
    torch.save(to_released(network.state_dict()), path)


def make_checkpoint(path):
    """Write the checkpoint of a tiny training."""
    import torch

    from metro.models.checkpoints import Checkpoint, store

    network = torch.nn.Linear(3, 3)
    optimizer = torch.optim.AdamW(network.parameters())
    network(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    states = network.state_dict(), {}, optimizer.state_dict()
    store(
        path.with_suffix(""), Checkpoint("run", 1, 1.0, 1.0, [{"loss": 0.5}], *states)
    )


def open_model(path):
    """Load a file of ours, or the folder around a released file, and use it."""
    import numpy as np

    from metro.models.loading import load_model

    model = load_model(path if path.suffix == ".safetensors" else path.parent)
    size = model.image_size
    z = model.encode(np.zeros((1, size, size, 3), np.uint8))
    plan = np.zeros((1, 2, 5 * model.action_size), np.float32)
    assert model.rollout(z, plan).shape == (1, 2, model.latent_size)
    assert model.name
    assert repr(model)


def open_macro(path):
    """Load a macro model and use it."""
    import torch

    from metro.models.macro.macro_weights import load_macro

    model = load_macro(path)
    chosen = model.encode(torch.zeros(2, 3, model.action_size))
    model.rollout(torch.zeros(2, model.latent_size), chosen[:, None])
    assert model.name
    assert repr(model)


def open_checkpoint(path):
    """Resume: an altered checkpoint is deleted with one warning, nothing else."""
    from metro.models.checkpoints import resume

    healthy = (path.parent.parent / path.name).read_bytes()
    # Without the digest alone, or as it was, it is whole.
    is_whole = healthy.startswith(path.read_bytes()) and len(healthy) - 72 <= (
        path.stat().st_size
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = resume(path.with_suffix(""), "run")
    if is_whole and found is not None:
        return
    assert (found, len(caught), path.exists()) == (None, 1, False), caught


def some_value(rng):
    """Return a value that nothing else holds: later alterations may change it."""
    return copy.deepcopy(rng.choice(VALUES))


def spoil_tree(rng, tree):
    """Replace, delete or nest some values of a JSON tree."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        places, open_nodes = [], [tree]
        while open_nodes:
            node = open_nodes.pop()
            keys = list(node) if isinstance(node, dict) else range(len(node))
            places += [(node, key) for key in keys]
            inner = [node[key] for key in keys]
            open_nodes += [one for one in inner if isinstance(one, dict | list)]
        if not places:
            break
        node, key = rng.choice(places)
        match rng.randrange(8):
            case 0:
                del node[key]
            case 1:
                node[key] = [node[key]]
            case 2 if isinstance(node, dict):
                node[rng.choice(("new", "", "x" * 2_000))] = some_value(rng)
            case _:
                node[key] = some_value(rng)
    return json.dumps(tree)


def spoil_json(rng, path):
    """Spoil the configuration."""
    path.write_text(spoil_tree(rng, json.loads(path.read_text())))


def spoil_header(rng, path):
    """Spoil the header of a safetensors file: its length, tensors or our metadata."""
    content = path.read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    tensors, header = content[8 + size :], json.loads(content[8 : 8 + size])
    [(key, about)] = header["__metadata__"].items()
    match rng.randrange(8):
        case 0:
            wrong = (0, 1, size - 1, size + 1, 10**8, 2**31, 2**62, 2**64 - 1)
            path.write_bytes(struct.pack("<Q", rng.choice(wrong)) + content[8:])
            return
        case 1 | 2:
            text = spoil_tree(rng, header)
        case 3:
            header["__metadata__"][key] = rng.choice(TEXTS).decode(errors="replace")
            text = json.dumps(header)
        case _:
            header["__metadata__"][key] = spoil_tree(rng, json.loads(about))
            text = json.dumps(header)
    packed = text.encode()
    path.write_bytes(struct.pack("<Q", len(packed)) + packed + tensors)


def spoil_released(rng, path):
    """Spoil the configuration that lies beside the weights."""
    rng.choice((spoil_json, spoil_text, spoil_place))(rng, path.parent / "config.json")


OFTEN, NO_PLACES = (15, 5, 1), (0, 1, 0)
"""How often each alteration is chosen: checkpoints have no format to know."""

KINDS = {
    "ours": Kind("m.safetensors", make_ours, spoil_header, open_model, OFTEN),
    "macro": Kind("m.safetensors", make_macro, spoil_header, open_macro, OFTEN),
    "released": Kind("weights.pt", make_released, spoil_released, open_model, OFTEN),
    "checkpoints": Kind(
        "m.checkpoint", make_checkpoint, spoil_bytes, open_checkpoint, NO_PLACES
    ),
}


def prepare() -> None:
    """Keep torch to one thread: others do not survive a fork.

    The published encoder is built once, for its library takes seconds to import, which
    would count as a slow refusal of a file that names it.
    """
    import torch

    from metro.models.encoders import build_encoder
    from metro.models.presets import PAPER

    torch.set_num_threads(1)
    with torch.device("meta"):
        build_encoder(PAPER)


if __name__ == "__main__":
    main(KINDS, prepare)

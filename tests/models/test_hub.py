"""Laws of models from local caches and from Hugging Face."""

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch
from model_makers import scramble

from metro.compat import import_swm
from metro.errors import ModelError
from metro.models.hub import cached_folder, fetch_folder
from metro.models.loading import load_model

MODULES = {
    "lewm": "stable_worldmodel.wm.lewm.module",
    "pldm": "stable_worldmodel.wm.pldm.module",
}


CLASSES = {
    "lewm": "stable_worldmodel.wm.lewm.LeWM",
    "pldm": "stable_worldmodel.wm.pldm.pldm.PLDM",
}


def released_config(family="lewm", action_size=10):
    """Return the tree of a released ``config.json``."""
    module = MODULES[family]
    norm = {"_target_": "torch.nn.BatchNorm1d", "_partial_": True}
    mlp = {
        "_target_": f"{module}.MLP",
        "input_dim": 192,
        "output_dim": 192,
        "hidden_dim": 2048,
        "norm_fn": norm,
    }
    return {
        "_target_": CLASSES[family],
        "encoder": {
            "_target_": "stable_pretraining.backbone.utils.vit_hf",
            "size": "tiny",
            "patch_size": 14,
            "image_size": 224,
            "pretrained": False,
            "use_mask_token": False,
        },
        "predictor": {
            "_target_": f"{module}.Predictor",
            "num_frames": 3,
            "input_dim": 192,
            "hidden_dim": 192,
            "output_dim": 192,
            "depth": 6,
            "heads": 16,
            "mlp_dim": 2048,
            "dim_head": 64,
            "dropout": 0.1,
            "emb_dropout": 0.0,
        },
        "action_encoder": {
            "_target_": f"{module}.Embedder",
            "input_dim": action_size,
            "emb_dim": 192,
        },
        "projector": dict(mlp),
        "pred_proj": dict(mlp),
    }


def build_with_swm(family, config):
    """Return swm's own model of a configuration, with random weights."""
    import_swm()
    from hydra.utils import get_class, instantiate
    from transformers import ViTConfig, ViTModel

    vit = ViTModel(
        ViTConfig(
            hidden_size=192,
            num_hidden_layers=12,
            num_attention_heads=3,
            intermediate_size=768,
            image_size=224,
            patch_size=14,
        ),
        add_pooling_layer=False,
        use_mask_token=False,
    )
    parts = {
        name: instantiate(part)
        for name, part in config.items()
        if name not in ("_target_", "encoder")
    }
    model = get_class(CLASSES[family])(encoder=vit, **parts)
    scramble(model)
    return model.eval()


@pytest.fixture(scope="module", params=["lewm", "pldm"])
def released(request, tmp_path_factory):
    """A full-size model, and the folder that swm's ``save_pretrained`` wrote."""
    from omegaconf import OmegaConf

    family = request.param
    action_size = {"lewm": 10, "pldm": 25}[family]
    config = released_config(family, action_size)
    torch.manual_seed(0)
    model = build_with_swm(family, config)
    home = tmp_path_factory.mktemp(family)
    from stable_worldmodel.wm.utils import save_pretrained

    save_pretrained(model, "run", OmegaConf.create(config), cache_dir=str(home))
    return family, model, next(home.glob("**/run"))


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A server that stands for Hugging Face; returns the folder that it serves."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    served = tmp_path / "served"
    served.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=served))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("STABLEWM_HOME", str(tmp_path / "swm"))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    yield served
    server.shutdown()
    server.server_close()


def _fill_folder(folder):
    folder.mkdir(parents=True)
    for name in ("config.json", "weights.pt"):
        (folder / name).write_bytes(b"\n")


def test_repositories_come_from_the_local_caches(monkeypatch, tmp_path):
    """A repository is found in swm's cache, else in Hugging Face's; runs by name."""
    monkeypatch.setenv("STABLEWM_HOME", str(tmp_path / "swm"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    assert cached_folder("me/model") is None
    expected = tmp_path / "hub/models--me--model/snapshots/abc"
    _fill_folder(expected)
    assert cached_folder("me/model") == expected
    expected = tmp_path / "swm/checkpoints/models--me--model"
    _fill_folder(expected)
    assert cached_folder("me/model") == expected
    _fill_folder(tmp_path / "swm/checkpoints/run")
    assert cached_folder("run") == tmp_path / "swm/checkpoints/run"


def test_repositories_are_downloaded_whole(hub, tmp_path):
    """What is not on the machine is fetched to swm's cache, and only then there."""
    _fill_folder(hub / "me/model/resolve/main")
    folder = fetch_folder("me/model")
    assert folder == tmp_path / "swm/checkpoints/models--me--model"
    assert sorted(file.name for file in folder.iterdir()) == [
        "config.json",
        "weights.pt",
    ]
    assert cached_folder("me/model") == folder


def test_a_download_of_another_digest_is_refused(hub, tmp_path):
    """Weights that are not the released ones are not kept."""
    _fill_folder(hub / "quentinll/lewm-pusht/resolve/main")
    message = (
        "What was downloaded is not the released weights.pt of quentinll/lewm-pusht: "
        "its sha256 starts with 01ba4719c80b, expected 48938400ae34. Try again."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        fetch_folder("quentinll/lewm-pusht")
    assert list((tmp_path / "swm/checkpoints").iterdir()) == []


def test_without_network_the_user_is_told_where_to_put_files(monkeypatch, tmp_path):
    """Offline, the message names the folder that would be looked into."""
    monkeypatch.setenv("STABLEWM_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    target = tmp_path / "checkpoints/models--me--model"
    message = (
        f"me/model is not on this machine and could not be downloaded (HF_HUB_OFFLINE "
        f"is set). Put its config.json and weights.pt into {target}."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        load_model("me/model")

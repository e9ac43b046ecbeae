"""Laws of models from local caches and from Hugging Face."""

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from metro.errors import ModelError
from metro.models.hub import cached_folder, fetch_folder
from metro.models.loading import load_model


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

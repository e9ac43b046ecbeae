"""Released models: in the caches of swm and Hugging Face, or fetched from there."""

import hashlib
import os
import shutil
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from metro.benchmark import benchmark_names, load_benchmark
from metro.errors import ModelError, short

FILES = ("config.json", "weights.pt")

_TIMEOUT_SECONDS = 20.0
_BLOCK = 1 << 20


def released_models() -> dict[str, tuple[str, str]]:
    """Return benchmark and start of the sha256 of ``weights.pt``, by repository."""
    return {
        repository: (name, prefix)
        for name in benchmark_names()
        for repository, prefix in load_benchmark(name).released.items()
    }


def cached_folder(name: str) -> Path | None:
    """Return the folder of a repository or of an swm run, if it is on this machine."""
    mangled = f"models--{name.replace('/', '--')}"
    candidates = [_swm_checkpoints() / mangled, _swm_checkpoints() / name]
    snapshots = _hugging_face() / mangled / "snapshots"
    if snapshots.is_dir():
        newest = sorted(snapshots.iterdir(), key=lambda one: one.stat().st_mtime)
        # The newest that is whole: a download under way has no weights yet.
        candidates += reversed(newest)
    for folder in candidates:
        if (folder / "config.json").is_file() and list(folder.glob("*.pt")):
            return folder
    return None


def fetch_folder(repository: str) -> Path:
    """Return the folder of a repository after downloading it to swm's cache.

    Everything is fetched under a temporary name and checked before it gets its own.
    """
    target = _swm_checkpoints() / f"models--{repository.replace('/', '--')}"
    if os.environ.get("HF_HUB_OFFLINE", "0") not in ("", "0"):
        raise _not_available(repository, target, "HF_HUB_OFFLINE is set")
    target.parent.mkdir(parents=True, exist_ok=True)
    # Beside the target: a rename works within one file system only.
    unfinished = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        for name in FILES:
            _download(
                f"{_endpoint()}/{repository}/resolve/main/{name}", unfinished / name
            )
        verify_released(repository, unfinished / "weights.pt")
        if target.exists():  # without weights: see cached_folder
            shutil.rmtree(target)
        # mkdtemp makes folders that only the owner reads; caches are often shared.
        unfinished.chmod(0o755)
        unfinished.rename(target)
    except (OSError, urllib.error.URLError) as error:
        raise _not_available(repository, target, str(error)) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return target


def verify_released(repository: str, weights: Path) -> None:
    """Raise `ModelError` if downloaded weights are not the released ones."""
    # Of an unknown repository any digest is right: all start with nothing.
    _, expected = released_models().get(repository, (None, ""))
    digest = sha256_of(weights)
    if not digest.startswith(expected):
        raise ModelError(
            f"What was downloaded is not the released weights.pt of {repository}: its "
            f"sha256 starts with {short(digest)}, expected {expected}. Try again."
        )


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _download(url: str, path: Path) -> None:
    with (
        urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response,
        path.open("wb") as stream,
    ):
        shutil.copyfileobj(response, stream, _BLOCK)
        expected = response.headers.get("Content-Length")
        # copyfileobj takes a connection that breaks for the end of the file.
        if expected is not None and stream.tell() != int(expected):
            raise OSError(f"{url} ended after {stream.tell()} of {expected} bytes")


def _not_available(repository: str, target: Path, reason: str) -> ModelError:
    return ModelError(
        f"{repository} is not on this machine and could not be downloaded ({reason}). "
        f"Put its {' and '.join(FILES)} into {target}."
    )


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def _swm_checkpoints() -> Path:
    home = os.environ.get("STABLEWM_HOME") or "~/.stable_worldmodel"
    return Path(os.path.expanduser(home)) / "checkpoints"


def _hugging_face() -> Path:
    cache = os.environ.get("HF_HUB_CACHE")
    if cache:
        return Path(os.path.expanduser(cache))
    home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
    return Path(os.path.expanduser(home)) / "hub"

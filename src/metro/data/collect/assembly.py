"""Finished episodes on disk, and how they become one HDF5 file, whole or not at all.

They wait in ``.NAME.partial`` beside the output, so that the same command resumes from
them. The file is written under another name and then renamed.
"""

from collections.abc import Iterator
from pathlib import Path

from metro.data.collect.episode import Episode, load_episode
from metro.data.collect.hdf5_writer import write_corpus
from metro.data.formats.hdf5_layout import SETTINGS, import_h5py
from metro.errors import StorageError
from metro.storage.atomic import sync, write_atomically
from metro.storage.parts import discard_unless, mark, warn_of_damage


def episode_file(folder: Path, number: int) -> Path:
    """Return where the finished episode ``number`` is kept."""
    return folder / f"episode-{number:07d}.npz"


def require_free(path: Path, *, force: bool) -> None:
    """Raise `StorageError` if ``path`` holds something that must not be replaced."""
    if not path.parent.is_dir():
        raise StorageError(f"The folder {path.parent} does not exist. Make it first.")
    if not path.exists():
        return
    if not force:
        raise StorageError(
            f"{path} exists already. Replace it with force=True (--force)."
        )
    if not _is_ours(path):
        raise StorageError(
            f"{path} exists and is not a corpus that metro recorded; it will not be "
            f"replaced, not even by force. Move it away or choose another name."
        )


def _is_ours(path: Path) -> bool:
    h5py = import_h5py(path)
    if not path.is_file() or not h5py.is_hdf5(path):
        return False
    with h5py.File(path, "r") as stream:
        return SETTINGS in stream.attrs


def open_folder(path: Path, key: str) -> Path:
    """Return the folder of finished episodes; those of other settings are deleted."""
    folder = path.with_name(f".{path.name}.partial")
    discard_unless(folder, key)
    mark(folder, key)
    return folder


def find_missing(folder: Path, episodes: int) -> list[int]:
    """Return the numbers of the episodes that are not finished; damaged ones go."""
    numbers = range(episodes)
    files = {number: episode_file(folder, number) for number in numbers}
    kept = [number for number in numbers if files[number].exists()]
    whole = {number for number in kept if load_episode(files[number]) is not None}
    warn_of_damage(folder, len(kept) - len(whole))
    return [number for number in numbers if number not in whole]


def assemble(
    folder: Path, path: Path, *, episodes: int, image_size: int, settings: str
) -> None:
    """Write all episodes to ``path``: the file appears whole or not at all.

    Args:
        folder: Where the finished episodes are.
        path: The HDF5 file.
        episodes: How many there are.
        image_size: Pixels along a side.
        settings: JSON to keep as the attribute ``metro``.
    """
    write_atomically(
        path,
        lambda place: write_corpus(
            place, _read(folder, episodes), image_size=image_size, settings=settings
        ),
    )
    sync(path.parent)


def _read(folder: Path, episodes: int) -> Iterator[Episode]:
    for number in range(episodes):
        episode = load_episode(episode_file(folder, number))
        if episode is None:
            raise OSError(f"the disk has damaged episode {number}")
        yield episode

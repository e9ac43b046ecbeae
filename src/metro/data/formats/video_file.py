"""Videos (mp4), read with PyAV: a stretch of frames at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5_layout import AGAIN
from metro.data.formats.picture_file import require_alike
from metro.errors import CorpusError, MissingExtra, one_line
from metro.files import reading, require_regular_file


def count_frames(file: Path, like: tuple[int, ...] | None) -> tuple[int, int, int]:
    """Return how many frames a video has by its own account, and their size.

    Args:
        file: The video.
        like: Height and width that it must have, ``(H, W)`` or longer; None: any.
    """
    with _opened(file) as (_, stream):
        context = stream.codec_context
        require_alike(str(file), (context.height, context.width), like, "video")
        return int(stream.frames), int(context.height), int(context.width)


def read_stretch(
    file: Path, start: float, count: int, fps: float | None
) -> NDArray[np.uint8]:
    """Return ``count`` frames ``[L, H, W, 3]`` from a time on.

    Args:
        file: The video.
        start: Time of the first frame, in seconds.
        count: How many frames.
        fps: Frames per second, by which a frame's time tells its number; None: they
            are counted from the first of the file.
    """
    frames: list[NDArray[np.uint8]] = []
    with _opened(file) as (container, stream):
        from av.video.reformatter import VideoReformatter

        colours = VideoReformatter()
        if start > 0:
            # To a key frame at or before it; those between are decoded and dropped.
            container.seek(round(start / stream.time_base), stream=stream)
        for place, frame in enumerate(container.decode(stream)):
            number = place if fps is None else round((frame.time - start) * fps)
            if number >= count or len(frames) == count:
                break
            if number >= 0:
                # A frame that is missing must not move the later ones.
                if number != len(frames):
                    break
                # Else threads are started for every single frame.
                picture = colours.reformat(frame, format="rgb24", threads=1)
                like = frames[0].shape if frames else None
                where = f"{file}, frame {place}"
                require_alike(where, (picture.height, picture.width), like, "video")
                frames.append(picture.to_ndarray().astype(np.uint8, copy=False))
    if len(frames) < count:
        raise CorpusError(
            f"{file} has {len(frames)} frames from {start:.2f} s on, its episode has "
            f"{count}. {AGAIN}"
        )
    return np.stack(frames)


@contextmanager
def _opened(file: Path) -> Iterator[tuple[Any, Any]]:
    try:
        import av
    except ImportError as error:
        raise MissingExtra(
            f'Reading {file} needs the "data" extra: pip install "metro-wm[data]"'
        ) from error
    require_regular_file(file, CorpusError)
    with reading(file, CorpusError, AGAIN):
        try:
            # Only this format: a playlist called .mp4 could name other files.
            with av.open(str(file), format="mp4") as container:
                if not container.streams.video:
                    raise CorpusError(f"{file} has no pictures in it. {AGAIN}")
                stream = container.streams.video[0]
                # Episodes are short, and several are read at once.
                stream.codec_context.thread_count = 1
                yield container, stream
        except av.FFmpegError as error:
            # Its text has the number of the error, which says nothing.
            what = error.strerror or one_line(error)
            raise CorpusError(f"{file} cannot be read: {what}. {AGAIN}") from error

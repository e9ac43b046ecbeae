"""Arrays of ``.npz`` archives, read in parts: never all pixels at once."""

import struct
import zlib
from pathlib import Path
from threading import Lock
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5_layout import AGAIN
from metro.errors import CorpusError
from metro.files import reading, require_regular_file

_BLOCK = 1 << 20
"""Bytes unpacked at a time."""

_EVERY = 1 << 25
"""Bytes between two points that unpacking can go back to; each point takes 50 kB."""

_PICTURES = 4
"""Axes of pixels ``[N, S, S, 3]``; what has fewer is read as a whole."""


class ArchivedArray:
    """One ``.npy`` inside an archive, whose rows are read when they are asked for."""

    def __init__(self, archive: ZipFile, info: ZipInfo, place: Path) -> None:
        self._place = place
        self.shape, is_fortran, self.dtype, self._start = _header(archive, info)
        self._row_bytes = int(np.prod(self.shape[1:], dtype=object))
        self._row_bytes *= self.dtype.itemsize
        size = self.shape[0] * self._row_bytes
        if is_fortran or self.dtype.hasobject or size != info.file_size - self._start:
            raise ValueError(f"{info.filename} is no array of rows of {self.dtype}")
        kinds: dict[int, type[_Stored] | type[_Deflated]]
        kinds = {ZIP_STORED: _Stored, ZIP_DEFLATED: _Deflated}
        if info.compress_type not in kinds or info.flag_bits & 1:
            raise ValueError(f"{info.filename} is packed in a way NumPy never does")
        self._bytes = kinds[info.compress_type](place, info)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        first, last, _ = rows.indices(len(self))
        with reading(self._place, CorpusError, AGAIN):
            content = self._bytes.read(
                self._start + first * self._row_bytes, (last - first) * self._row_bytes
            )
            return np.frombuffer(content, self.dtype).reshape(-1, *self.shape[1:])


class _Stored:
    """Bytes of a member as they lie in the archive."""

    def __init__(self, place: Path, info: ZipInfo) -> None:
        self._place = place
        header = self._read(info.header_offset, 30)
        magic, name, extra = struct.unpack("<4s22xHH", header)
        if magic != b"PK\3\4":
            raise ValueError(f"{info.filename} is not where the archive says")
        self._start = info.header_offset + 30 + name + extra

    def read(self, offset: int, size: int) -> bytes:
        """Return ``size`` bytes from ``offset`` on."""
        return self._read(self._start + offset, size)

    def _read(self, offset: int, size: int) -> bytes:
        # Opened every time: several threads read, and nothing is left open.
        with self._place.open("rb", buffering=0) as file:
            file.seek(offset)
            content = bytearray()
            # One call of the system reads 2 GB at most.
            while len(content) < size:
                more = file.read(size - len(content))
                if not more:
                    raise EOFError("the file ends early")
                content += more
        return bytes(content)


class _Deflated:
    """Bytes of a compressed member; going back is cheap, from points kept on the way.

    Several threads may read, one after the other.
    """

    def __init__(self, place: Path, info: ZipInfo) -> None:
        self._packed = _Stored(place, info)
        self._packed_size = info.compress_size
        self._lock = Lock()
        # Bytes given out, bytes taken in, and the state in which that is so.
        self._now = (0, 0, zlib.decompressobj(-zlib.MAX_WBITS))
        self._kept = [(0, 0, self._now[2].copy())]

    def read(self, offset: int, size: int) -> bytes:
        """Return ``size`` bytes from ``offset`` on."""
        content = bytearray()
        with self._lock:
            self._go_back(offset)
            while (at := self._now[0]) < offset + size:
                block = self._unpack(min(_BLOCK, offset + size - at))
                content += block[max(0, offset - at) :]
        return bytes(content)

    def _go_back(self, offset: int) -> None:
        near = [point for point in self._kept if point[0] <= offset][-1]
        at = self._now[0]
        if at > offset or near[0] > at:
            self._now = (near[0], near[1], near[2].copy())

    def _unpack(self, most: int) -> bytes:
        """Return the next bytes, at most so many, and keep the point they end at."""
        given, taken, state = self._now
        packed = state.unconsumed_tail
        if not packed:
            size = min(_BLOCK // 4, self._packed_size - taken)
            packed = self._packed.read(taken, size)
            taken += size
        block = state.decompress(packed, most)
        if not block and taken >= self._packed_size and not state.unconsumed_tail:
            raise EOFError("an array of the archive ends early")
        self._now = (given + len(block), taken, state)
        if self._now[0] >= self._kept[-1][0] + _EVERY:
            self._kept.append((self._now[0], taken, state.copy()))
        return block


def load_archive(place: Path) -> dict[str, Any]:
    """Return the arrays of an ``.npz``; pixels stay in it until they are asked for."""
    require_regular_file(place, CorpusError)
    arrays: dict[str, Any] = {}
    with reading(place, CorpusError, AGAIN), ZipFile(place) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if len(_header(archive, info)[0]) >= _PICTURES:
                arrays[name] = ArchivedArray(archive, info, place)
                continue
            with archive.open(info) as stream:
                arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
    return arrays


def _header(archive: ZipFile, info: ZipInfo) -> tuple[Any, bool, np.dtype[Any], int]:
    """Return shape, order and type of an array, and where its numbers begin."""
    with archive.open(info) as stream:
        if np.lib.format.read_magic(stream) == (1, 0):
            header = np.lib.format.read_array_header_1_0(stream)
        else:
            header = np.lib.format.read_array_header_2_0(stream)
        return *header, stream.tell()

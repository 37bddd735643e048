"""Little-endian reading of a GGUF header, every length checked before memory is taken for it."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from app.core.errors import InvalidSourceError
from app.core.sentence import Sentence

# Real headers (a 260k-token vocabulary, merges, an embedded tokenizer.json) are tens of MiB.
MAX_HEADER_BYTES = 512 << 20
_CHUNK_BYTES = 1 << 20


class GgufStream:
    """A cursor over the head of a seekable stream of `total_bytes`; `file` names it in errors."""

    def __init__(self, stream: BinaryIO, *, file: str, total_bytes: int) -> None:
        self.file = file
        self.total_bytes = total_bytes
        self._stream = stream
        self._buffer = b""
        self._pos = 0
        self._buffer_start = 0

    @property
    def offset(self) -> int:
        """Bytes from the start of the file to the next byte to be read."""
        return self._buffer_start + self._pos

    def fail(self, fault: str) -> InvalidSourceError:
        """The error for a damaged header: one sentence, naming the file and the fault."""
        return InvalidSourceError("{file}: {fault}.", file=self.file, fault=fault)

    def check_available(self, num_bytes: int, what: str) -> None:
        """InvalidSourceError when `num_bytes` more cannot be in the file, or in a sane header."""
        if self.offset + num_bytes > self.total_bytes:
            raise self.fail(
                Sentence(
                    "the header is truncated or damaged: {what} needs {num_bytes:,} bytes "
                    "past the end",
                    what=what,
                    num_bytes=num_bytes,
                )
            )
        if self.offset + num_bytes > MAX_HEADER_BYTES:
            raise self.fail(
                Sentence(
                    "{what} would make the header larger than {most_mib} MiB",
                    what=what,
                    most_mib=MAX_HEADER_BYTES >> 20,
                )
            )

    def read(self, num_bytes: int, what: str) -> bytes:
        """The next `num_bytes` bytes."""
        end = self._pos + num_bytes
        if end > len(self._buffer):
            self._fill(num_bytes, what)
            end = num_bytes
        data = self._buffer[self._pos : end]
        self._pos = end
        return data

    def rewind(self, offset: int) -> None:
        """Back to a byte of the first chunk."""
        self._pos = offset - self._buffer_start

    def read_struct(self, code: str, what: str) -> Any:
        """One scalar by its struct code, little-endian."""
        return struct.unpack("<" + code, self.read(struct.calcsize("<" + code), what))[0]

    def read_count(self, what: str, *, limit: int) -> int:
        """A u64 that counts things; refused above `limit`."""
        count = int(self.read_struct("Q", what))
        if count > limit:
            raise self.fail(
                Sentence("{what} is {count:,}, which no real file has", what=what, count=count)
            )
        return count

    def read_string(self, what: str, *, limit: int = MAX_HEADER_BYTES) -> str:
        """A string: u64 length, at most `limit` bytes, then UTF-8."""
        length = int(self.read_struct("Q", what))
        if length > limit:
            raise self.fail(
                Sentence(
                    "{what} is {length:,} bytes long, which no real file has",
                    what=what,
                    length=length,
                )
            )
        self.check_available(length, what)
        return self._decode(self.read(length, what), what)

    def read_strings(self, count: int, what: str) -> list[str]:
        """`count` strings; the loop that decides how fast a header with 100,000 of them is read."""
        self.check_available(8 * count, what)
        strings: list[str] = []
        while len(strings) < count:
            strings += self._take_buffered_strings(count - len(strings), what)
            if len(strings) < count:
                strings.append(self.read_string(what))
        return strings

    def read_array(self, dtype: np.dtype[Any], count: int, what: str) -> npt.NDArray[Any]:
        """`count` numbers of one dtype."""
        self.check_available(dtype.itemsize * count, what)
        return np.frombuffer(self.read(dtype.itemsize * count, what), dtype)

    def _take_buffered_strings(self, count: int, what: str) -> list[str]:
        """As many whole strings as lie in the buffer, at most `count`."""
        buffer, pos, end = self._buffer, self._pos, len(self._buffer)
        strings: list[str] = []
        from_bytes = int.from_bytes
        try:
            for _ in range(count):
                start = pos + 8
                stop = start + from_bytes(buffer[pos:start], "little")
                if start > end or stop > end:
                    break
                strings.append(buffer[start:stop].decode())
                pos = stop
        except UnicodeDecodeError as error:
            raise self.fail(
                Sentence("{what} holds a string that is not UTF-8", what=what)
            ) from error
        self._pos = pos
        return strings

    def _fill(self, num_bytes: int, what: str) -> None:
        """Drops what was read; buffers at least `num_bytes`, a whole chunk where there is one."""
        self.check_available(num_bytes, what)
        start = self.offset
        self._stream.seek(start)
        self._buffer = self._stream.read(
            max(num_bytes, min(_CHUNK_BYTES, self.total_bytes - start))
        )
        self._buffer_start, self._pos = start, 0
        if len(self._buffer) < num_bytes:
            raise self.fail(Sentence("the file ended while {what} was read", what=what))

    def _decode(self, data: bytes, what: str) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.fail(Sentence("{what} is not UTF-8", what=what)) from error

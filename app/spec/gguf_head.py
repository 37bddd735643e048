"""What the first bytes of a GGUF file tell: all of the header, or what stands before the tokens.

llama.cpp writes the architecture's keys before the vocabulary, which can take tens of megabytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any

from app.core.errors import InvalidSourceError
from app.core.sentence import Sentence
from app.spec.gguf_config import config_from_gguf
from app.spec.gguf_header import GgufTensor, read_after_counts, read_counts
from app.spec.gguf_stream import GgufStream

_TOKENS = "tokenizer.ggml.tokens"
_EMBEDDING, _OUTPUT = "token_embd.weight", "output.weight"


class _HeadEndedError(Exception):
    """The next value lies behind the bytes that are here."""


class _HeadStream(GgufStream):
    """Reads a head as if it were the file, up to where it ends."""

    def __init__(self, head: bytes, *, file: str, total_bytes: int) -> None:
        super().__init__(BytesIO(head), file=file, total_bytes=total_bytes)
        self._num_here = len(head)
        self.num_tokens = 0

    def read(self, num_bytes: int, what: str) -> bytes:
        self.check_available(num_bytes, what)
        if self.offset + num_bytes > self._num_here:
            raise _HeadEndedError
        return super().read(num_bytes, what)

    def read_strings(self, count: int, what: str) -> list[str]:
        if _TOKENS in what:
            self.num_tokens = count
        return super().read_strings(count, what)


@dataclass(frozen=True, slots=True)
class GgufHead:
    """`tensors` is None, and `metadata` incomplete, where the head ended before the header did."""

    file: str
    metadata: dict[str, Any]
    num_tensors: int
    vocab_size: int
    tensors: tuple[GgufTensor, ...] | None

    def config(self) -> dict[str, Any]:
        """The Hugging Face configuration, as far as it decides sizes; raises `config_from_gguf`'s.

        Tables of rotary factors are not read. Where the tensors are not known, an output matrix
        of its own is assumed, and no biases.
        """
        return config_from_gguf(self.metadata, self._shapes(), {}, file=self.file)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        if self.tensors is not None:
            return {tensor.name: tensor.shape for tensor in self.tensors}
        if not self.vocab_size:
            raise InvalidSourceError(
                "{file}: the vocabulary does not begin in the first bytes of the file.",
                file=self.file,
            )
        unknown: dict[str, tuple[int, ...]] = {f"#{i}": () for i in range(self.num_tensors)}
        return unknown | {_EMBEDDING: (self.vocab_size,), _OUTPUT: (self.vocab_size,)}


def read_gguf_head(head: bytes, *, file: str, total_bytes: int) -> GgufHead:
    """Reads the first bytes of a file of `total_bytes`; raises what `read_gguf_header` does."""
    stream = _HeadStream(head, file=file, total_bytes=total_bytes)
    metadata: dict[str, Any] = {}
    try:
        counts = read_counts(stream)
    except _HeadEndedError as error:
        raise stream.fail(Sentence("too little of it was read to judge it")) from error
    tensors: tuple[GgufTensor, ...] | None
    try:
        tensors = read_after_counts(stream, counts, metadata)
    except _HeadEndedError:
        tensors = None
    return GgufHead(file, metadata, counts.num_tensors, stream.num_tokens, tensors)

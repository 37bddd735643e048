"""What each token of a vocabulary adds to a text, in bytes.

Two alphabets cover the models that are run: GPT-2's, where each byte is one printable character,
and SentencePiece's, where a space is U+2581 and a byte that is no piece is written `<0x0A>`. Which
one a tokenizer.json uses, its `decoder` says (in tokenizers' words: `ByteLevel`, or `Replace` +
`ByteFallback` + `Fuse`, or `Metaspace`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import tokenizers

from app.core.errors import CheckpointError
from app.core.sentence import Sentence

_SPACE = "▁"
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def create_byte_alphabet() -> dict[str, int]:
    """GPT-2's character for each byte: itself where printable, else one from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(0x100) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {
        chr(0x100 + i): byte for i, byte in enumerate(hidden)
    }


_BYTE_ALPHABET = create_byte_alphabet()


class TokenBytes:
    """Token id -> bytes, each looked up in the vocabulary once."""

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        decode_piece: Callable[[str], bytes],
        *,
        strips_prefix_space: bool,
    ) -> None:
        added = backend.get_added_tokens_decoder()
        self.strips_prefix_space = strips_prefix_space
        self._backend = backend
        self._decode_piece = decode_piece
        self._special_ids = frozenset(
            token_id for token_id, token in added.items() if token.special
        )
        self._cache = {token_id: token.content.encode() for token_id, token in added.items()}

    @classmethod
    def from_tokenizer_json(
        cls, content: Mapping[str, Any], backend: tokenizers.Tokenizer
    ) -> TokenBytes:
        """Raises `CheckpointError` for a decoder that is neither of the two alphabets."""
        decoders = _flatten_decoders(content.get("decoder"))
        names = [decoder.get("type") for decoder in decoders]
        if names == ["ByteLevel"]:
            return cls(backend, _decode_byte_level, strips_prefix_space=False)
        if names in (
            ["Replace", "ByteFallback", "Fuse"],
            ["Replace", "ByteFallback", "Fuse", "Strip"],
        ):
            return cls(backend, _decode_sentencepiece, strips_prefix_space=len(names) == 4)
        if names == ["Metaspace"]:
            prefix = decoders[0].get("prepend_scheme", "always") != "never"
            return cls(backend, _decode_sentencepiece, strips_prefix_space=prefix)
        raise CheckpointError(
            "The tokenizer's decoder is not supported: {names}.",
            names=" + ".join(map(str, names)) or Sentence("none"),
        )

    def lookup(self, token_id: int) -> bytes:
        """The bytes of one token; empty beyond the vocabulary (a row that pads the embedding)."""
        found = self._cache.get(token_id)
        if found is None:
            found = self._cache[token_id] = self._read(token_id)
        return found

    def is_special(self, token_id: int) -> bool:
        """Whether the token is a marker and not text."""
        return token_id in self._special_ids

    def strip_prefix(self, text: bytes) -> bytes:
        """`text`, the start of what is decoded, without the space that encoding put before it."""
        return text.removeprefix(b" ") if self.strips_prefix_space else text

    def _read(self, token_id: int) -> bytes:
        piece = self._backend.id_to_token(token_id) if 0 <= token_id < 2**32 else None
        return b"" if piece is None else self._decode_piece(piece)


def _flatten_decoders(decoder: Any) -> list[Mapping[str, Any]]:
    if not isinstance(decoder, dict):
        return []
    return list(decoder["decoders"]) if decoder.get("type") == "Sequence" else [decoder]


def _decode_byte_level(piece: str) -> bytes:
    """A piece with a character outside the alphabet stands for its own text."""
    codes = [_BYTE_ALPHABET.get(character) for character in piece]
    return piece.encode() if None in codes else bytes(code for code in codes if code is not None)


def _decode_sentencepiece(piece: str) -> bytes:
    byte = _BYTE_PIECE.fullmatch(piece)
    return bytes([int(byte[1], 16)]) if byte else piece.replace(_SPACE, " ").encode()

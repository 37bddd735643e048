"""Text <-> token ids with Hugging Face's `tokenizers`, and a model's special tokens.

Encoding is the library's. Decoding is done here, token by token as bytes: only so can a reply be
streamed without guessing whether a character is complete, and the two kinds of vocabulary be
treated alike.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import tokenizers

from app.core.errors import CheckpointError
from app.engine.chat_template import SPECIAL_TOKEN_NAMES, ChatTemplate
from app.engine.token_bytes import TokenBytes

_NO_PIECE = "\x02"


class TokenizerJsonError(ValueError):
    """A text is no tokenizer.json, in `tokenizers`' own words."""


def read_tokenizer_json(content: str) -> tokenizers.Tokenizer:
    """The library's object. Raises `TokenizerJsonError` where it takes none of it.

    What the file says of truncation and padding is left from somebody's training, and would cut
    and fill every prompt: as in transformers, neither is done unless it is asked for.
    """
    try:
        backend = tokenizers.Tokenizer.from_str(content)
    except MemoryError:
        raise
    except Exception as error:  # just that class is what the library raises
        raise TokenizerJsonError(str(error)) from error
    backend.no_truncation()
    backend.no_padding()
    return backend


class Tokenizer:
    """The tokenizer of one checkpoint. Encoding may be called from several threads."""

    def __init__(
        self, content: str, config: Mapping[str, Any], generation_config: Mapping[str, Any]
    ) -> None:
        """`content` is a tokenizer.json; the two configs are the parsed files of that name.

        Raises `TokenizerJsonError`, and `CheckpointError` for a decoder that is not supported.
        """
        self._config = config
        self._backend = read_tokenizer_json(content)
        self._bytes = TokenBytes.from_tokenizer_json(json.loads(content), self._backend)
        self._special_tokens = _read_special_tokens(config)
        self.bos_token_id = self._find_id("bos_token", generation_config.get("bos_token_id"))
        self.eos_token_ids = self._collect_eos_ids(generation_config.get("eos_token_id"))
        self.vocab_size = 1 + max(self._backend.get_vocab().values(), default=-1)

    @classmethod
    def from_dir(cls, directory: Path) -> Tokenizer:
        """Reads a checkpoint's tokenizer. Raises `CheckpointError` naming the file at fault."""
        path = directory / "tokenizer.json"
        content = _read_text(path)
        config = _read_json(directory / "tokenizer_config.json")
        config["chat_template"] = _read_chat_template(directory, config.get("chat_template"))
        generation_config = _read_json(directory / "generation_config.json")
        try:
            return cls(content, config, generation_config)
        except TokenizerJsonError as error:
            raise CheckpointError(
                "{path} is not a valid tokenizer.", path=path, detail=str(error)
            ) from error

    def encode(
        self, text: str, *, add_special_tokens: bool = True, parse_special: bool = True
    ) -> list[int]:
        """Token ids of `text`.

        `add_special_tokens` puts bos before it where the model wants one; `parse_special` turns
        text such as `<|im_end|>` into that token, without it such text is spelled out like any
        other.
        """
        backend = self._backend if parse_special else self._plain_backend
        # A batch of one: only batches let other threads run meanwhile, and prompts can be long.
        (encoding,) = backend.encode_batch(
            [_replace_lone_surrogates(text)], add_special_tokens=add_special_tokens
        )
        ids: list[int] = encoding.ids
        return ids

    def encode_chat(self, rendered: str) -> list[int]:
        """Token ids of a rendered chat template, with bos exactly once where the model wants it.

        Special tokens are parsed everywhere, as transformers does by default: once rendered, a
        template's own `<|im_end|>` and one that a user typed are the same text. The person at the
        keyboard is the owner of the model, so this is a way to write prompts and not a breach.
        """
        ids = self.encode(rendered, add_special_tokens=False)
        missing = self._config.get("template_adds_bos") is False and self._config.get(
            "add_bos_token"
        )
        if missing and self.bos_token_id is not None and ids[:1] != [self.bos_token_id]:
            ids.insert(0, self.bos_token_id)
        return ids

    def encode_inner(self, text: str) -> list[int] | None:
        """Token ids of `text` where it goes on from other text; special tokens are spelled out.

        Their bytes are exactly those of `text`; None where the tokenizer cannot say it so. Some
        vocabularies put a space before what is encoded: then a byte that no piece has goes before
        the text, and what belongs to it is dropped.
        """
        plain = self._encode_exactly(text, "")
        return plain if plain is not None else self._encode_exactly(text, _NO_PIECE)

    def _encode_exactly(self, text: str, lead: str) -> list[int] | None:
        """None where `lead`, and what encoding puts before it, are not tokens of their own."""
        ids = self.encode(lead + text, add_special_tokens=False, parse_special=False)
        pieces = [self.token_bytes(token_id) for token_id in ids]
        wanted = text.encode()
        num_lead = sum(map(len, pieces)) - len(wanted)
        ends = accumulate(map(len, pieces), initial=0)
        start = next((index for index, end in enumerate(ends) if end >= num_lead), 0)
        return ids[start:] if b"".join(pieces[start:]) == wanted else None

    def decode(self, ids: Iterable[int], *, skip_special_tokens: bool = True) -> str:
        """The text of `ids`; bytes that are no UTF-8 become U+FFFD, unknown ids nothing."""
        pieces = [
            self.token_bytes(i) for i in ids if not (skip_special_tokens and self.is_special(i))
        ]
        return self.strip_prefix(b"".join(pieces)).decode("utf-8", errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        """What one token adds to a text, special tokens too; empty beyond the vocabulary."""
        return self._bytes.lookup(token_id)

    def find_token(self, text: str) -> int | None:
        """The id of the token that is written so, special tokens too."""
        token_id: int | None = self._backend.token_to_id(text)
        return token_id

    def is_special(self, token_id: int) -> bool:
        """Whether this token is a marker and not text."""
        return self._bytes.is_special(token_id)

    def strip_prefix(self, text: bytes) -> bytes:
        """The start of a decoded text without the one space that encoding put before it."""
        return self._bytes.strip_prefix(text)

    @cached_property
    def chat_template(self) -> ChatTemplate | None:
        """The model's own template, None when it has none; `CheckpointError` when it is no text."""
        template = self._config.get("chat_template")
        return ChatTemplate.from_config(template, self._special_tokens) if template else None

    @cached_property
    def _plain_backend(self) -> tokenizers.Tokenizer:
        """A second tokenizer that spells special tokens out: the switch is not thread-safe.

        Both share the vocabulary: read again, it would take its memory and its second again.
        """
        backend = tokenizers.Tokenizer(self._backend.model)
        for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
            setattr(backend, part, getattr(self._backend, part))
        added = self._backend.get_added_tokens_decoder()
        backend.add_tokens([added[token_id] for token_id in sorted(added)])
        backend.encode_special_tokens = True
        return backend

    def _find_id(self, name: str, configured: object) -> int | None:
        token_id = self._backend.token_to_id(self._special_tokens.get(name, ""))
        if token_id is None and isinstance(configured, int):
            return configured
        return token_id

    def _collect_eos_ids(self, configured: object) -> tuple[int, ...]:
        """generation_config.json's ids (one or a list), and the tokenizer's own eos token."""
        listed = configured if isinstance(configured, list) else [configured]
        ids = [*listed, self._find_id("eos_token", None)]
        return tuple(dict.fromkeys(i for i in ids if isinstance(i, int)))


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError("{path} cannot be read.", path=path, detail=str(error)) from error


def _read_json(path: Path) -> dict[str, Any]:
    """The object in `path`, empty when absent. Raises `CheckpointError` when it is damaged."""
    if not path.is_file():
        return {}
    try:
        content = json.loads(_read_text(path))
    except (ValueError, RecursionError) as error:
        raise CheckpointError("{path} is damaged.", path=path, detail=str(error)) from error
    if not isinstance(content, dict):
        raise CheckpointError("{path} is damaged: it holds no JSON object.", path=path)
    return content


def _read_chat_template(directory: Path, configured: object) -> object:
    """Hugging Face's places for a template: a file of its own, tokenizer_config.json, or JSON."""
    path = directory / "chat_template.jinja"
    if path.is_file():
        return _read_text(path)
    return configured or _read_json(directory / "chat_template.json").get("chat_template")


def _read_special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """`bos_token` and its like; each is written as a text or as an object with `content`."""
    values = {name: config.get(name) for name in SPECIAL_TOKEN_NAMES}
    texts = {
        name: value.get("content") if isinstance(value, dict) else value
        for name, value in values.items()
    }
    return {
        name: _replace_lone_surrogates(text)
        for name, text in texts.items()
        if isinstance(text, str)
    }


def _replace_lone_surrogates(text: str) -> str:
    """Half of a UTF-16 pair (from a JSON escape) has no UTF-8 form; it becomes U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

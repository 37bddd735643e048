"""The `tokenizer.json` that says what a GGUF's tokenizer metadata mean.

Byte-level BPE comes with its merges; SentencePiece comes with scores, from which merges follow. The
format is tokenizers' own (`Tokenizer.to_str`).
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

from app.converter.gguf_pretokenizers import PRE_TOKENIZERS, PreTokenizer
from app.converter.gguf_vocabulary import GgufVocabulary, TokenType
from app.core.errors import UnsupportedError
from app.core.sentence import Sentence

_HINT = Sentence("pass --tokenizer DIR with the tokenizer files of the original model")


def build_tokenizer_json(
    metadata: Mapping[str, Any], vocabulary: GgufVocabulary
) -> tuple[dict[str, Any], bool]:
    """The `tokenizer.json` object, and whether text starts with bos."""
    kind = _read_name(metadata, "tokenizer.ggml.model")
    if kind == "gpt2":
        pre_name = _read_name(metadata, "tokenizer.ggml.pre")
        pre_tokenizer = _find_pre_tokenizer(pre_name, vocabulary.file_name)
        adds_bos = vocabulary.flag("add_bos_token", pre_tokenizer.adds_bos)
        parts = _build_byte_level_parts(vocabulary, pre_tokenizer)
    elif kind == "llama":
        adds_bos = vocabulary.flag("add_bos_token", True)
        parts = _build_sentencepiece_parts(vocabulary)
    else:
        raise UnsupportedError(
            "{file_name}: its tokenizer is of the kind {kind}, and only gpt2 and llama are "
            "supported; {hint}.",
            file_name=vocabulary.file_name,
            kind=reprlib.repr(kind),
            hint=_HINT,
        )
    skeleton = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(vocabulary),
    }
    return skeleton | parts | {"post_processor": _post_processor(vocabulary, adds_bos)}, adds_bos


def _read_name(metadata: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


def _find_pre_tokenizer(name: str, file_name: str) -> PreTokenizer:
    if name in ("", "default"):
        raise UnsupportedError(
            "{file_name}: it does not name its pre-tokenizer (files made before May 2024 split "
            "text wrongly); download a newer file, or {hint}.",
            file_name=file_name,
            hint=_HINT,
        )
    if name not in PRE_TOKENIZERS:
        raise UnsupportedError(
            "{file_name}: the pre-tokenizer {name} is not supported; {hint}.",
            file_name=file_name,
            name=reprlib.repr(name),
            hint=_HINT,
        )
    return PRE_TOKENIZERS[name]


def _build_byte_level_parts(
    vocabulary: GgufVocabulary, pre_tokenizer: PreTokenizer
) -> dict[str, Any]:
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": pre_tokenizer.ignore_merges,
        "vocab": _vocab(vocabulary),
        "merges": vocabulary.merges(),
    }
    return {
        "normalizer": pre_tokenizer.normalizer,
        "pre_tokenizer": pre_tokenizer.to_json(),
        "decoder": {
            "type": "ByteLevel",
            "add_prefix_space": True,
            "trim_offsets": True,
            "use_regex": True,
        },
        "model": model,
    }


def _build_sentencepiece_parts(vocabulary: GgufVocabulary) -> dict[str, Any]:
    """BPE over whole text with byte fallback."""
    prefix = vocabulary.flag("add_space_prefix", True)
    restore = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": _unknown_token(vocabulary),
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": True,
        "ignore_merges": False,
        "vocab": _vocab(vocabulary),
        "merges": derive_merges(vocabulary),
    }
    return _prefix_space_parts(vocabulary, prefix) | {
        "decoder": {
            "type": "Sequence",
            "decoders": [restore, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip],
        },
        "model": model,
    }


def _prefix_space_parts(vocabulary: GgufVocabulary, prefix: bool) -> dict[str, Any]:
    """How spaces become U+2581, and where one more is put before the text.

    SentencePiece, llama.cpp and most published files give one to every stretch of text between
    special tokens. Mistral's vocabularies from v2 on, which have [INST] as a token, were trained
    and are published with one at the very start only: their templates write the others themselves.
    """
    if prefix and "[INST]" in {vocabulary.tokens[i] for i in vocabulary.special_ids()}:
        metaspace = {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": "first",
            "split": False,
        }
        return {"normalizer": None, "pre_tokenizer": metaspace}
    prepend = [{"type": "Prepend", "prepend": "▁"}] if prefix else []
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    normalizer = {"type": "Sequence", "normalizers": [*prepend, replace]}
    return {"normalizer": normalizer, "pre_tokenizer": None}


def derive_merges(vocabulary: GgufVocabulary) -> list[tuple[str, str]]:
    """SentencePiece scores -> BPE merges, best first.

    SentencePiece joins two neighbours whenever the joined text is a piece, the highest score first;
    so every way to cut a piece in two pieces is a merge with that piece's score. Control and
    user-defined pieces take no part.
    """
    mergeable = {TokenType.NORMAL, TokenType.UNUSED}
    scores = {
        text: score
        for text, kind, score in zip(
            vocabulary.tokens, vocabulary.types, vocabulary.scores(), strict=True
        )
        if kind in mergeable
    }
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    return [
        (text[:cut], text[cut:])
        for text, _ in ranked
        for cut in range(1, len(text))
        if text[:cut] in scores and text[cut:] in scores
    ]


def _vocab(vocabulary: GgufVocabulary) -> dict[str, int]:
    return {text: token_id for token_id, text in enumerate(vocabulary.tokens)}


def _unknown_token(vocabulary: GgufVocabulary) -> str | None:
    token_id = vocabulary.special_id("unknown")
    if token_id is None and TokenType.UNKNOWN in vocabulary.types:
        token_id = vocabulary.types.index(TokenType.UNKNOWN)
    return None if token_id is None else vocabulary.tokens[token_id]


def _added_tokens(vocabulary: GgufVocabulary) -> list[dict[str, Any]]:
    """Tokens found in raw text before anything else: special ones and user-defined ones."""
    special = vocabulary.special_ids()
    return [
        {
            "id": token_id,
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": token_id in special,
        }
        for token_id, (text, kind) in enumerate(
            zip(vocabulary.tokens, vocabulary.types, strict=True)
        )
        if token_id in special or kind == TokenType.USER_DEFINED
    ]


def _post_processor(vocabulary: GgufVocabulary, adds_bos: bool) -> dict[str, Any] | None:
    """Puts bos before and eos after a text that is encoded with `add_special_tokens`."""
    bos = vocabulary.special_id("bos") if adds_bos else None
    eos = vocabulary.special_id("eos") if vocabulary.flag("add_eos_token", False) else None
    used = [i for i in (bos, eos) if i is not None]
    if not used:
        return None
    single = [
        _template_piece(vocabulary, bos),
        {"Sequence": {"id": "A", "type_id": 0}},
        _template_piece(vocabulary, eos),
    ]
    tokens = {
        vocabulary.tokens[i]: {
            "id": vocabulary.tokens[i],
            "ids": [i],
            "tokens": [vocabulary.tokens[i]],
        }
        for i in used
    }
    pieces = [piece for piece in single if piece is not None]
    return {
        "type": "TemplateProcessing",
        "single": pieces,
        "pair": [*pieces, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": tokens,
    }


def _template_piece(vocabulary: GgufVocabulary, token_id: int | None) -> dict[str, Any] | None:
    return (
        None
        if token_id is None
        else {"SpecialToken": {"id": vocabulary.tokens[token_id], "type_id": 0}}
    )

"""A GGUF's tokenizer metadata -> the tokenizer files of a Hugging Face repository.

`tokenizer.json` is complete: Hugging Face's `tokenizers` alone loads it (its format: tokenizers'
`Tokenizer.to_str`). Templates are copied word for word; what uploaders changed is theirs to change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import tokenizers

from app.converter.gguf_pretokenizers import PRE_TOKENIZERS, PreTokenizer
from app.converter.gguf_vocabulary import GgufVocabulary, TokenType
from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from app.engine.chat_template import ChatTemplate

_HINT = "pass --tokenizer DIR with the tokenizer files of the original model"
_TEMPLATE_KEY = "tokenizer.chat_template"


def build_tokenizer_files(
    metadata: Mapping[str, Any], config: dict[str, Any], file_name: str
) -> dict[str, str]:
    """File name -> content of `tokenizer.json`, `tokenizer_config.json` and `generation_config.json`.

    `metadata` holds the GGUF's key-value pairs (arrays as lists or 1-D numpy arrays), `config` the model's
    config.json. Raises `UnsupportedError` for a tokenizer that would be guessed, `InvalidSourceError` for a
    damaged one.
    """
    vocabulary = GgufVocabulary.read(metadata, file_name)
    if len(vocabulary.tokens) > int(config.get("vocab_size") or len(vocabulary.tokens)):
        raise InvalidSourceError(
            f"{file_name}: it has {len(vocabulary.tokens)} tokens, but embeddings for {config['vocab_size']}."
        )
    tokenizer, adds_bos = _build_tokenizer(metadata, vocabulary)
    tokenizer_config = _build_tokenizer_config(metadata, vocabulary, adds_bos)
    contents = {
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": tokenizer_config,
        "generation_config.json": _build_generation_config(vocabulary),
    }
    files = {name: json.dumps(content, ensure_ascii=False, indent=None) for name, content in contents.items()}
    _check_loads(files["tokenizer.json"], file_name)
    return files


def _build_tokenizer(metadata: Mapping[str, Any], vocabulary: GgufVocabulary) -> tuple[dict[str, Any], bool]:
    """The `tokenizer.json` object, and whether text starts with bos."""
    kind = metadata.get("tokenizer.ggml.model")
    if kind == "gpt2":
        pre_tokenizer = _find_pre_tokenizer(metadata.get("tokenizer.ggml.pre"), vocabulary.file_name)
        adds_bos = vocabulary.flag("add_bos_token", pre_tokenizer.adds_bos)
        parts = _build_byte_level_parts(vocabulary, pre_tokenizer)
    elif kind == "llama":
        adds_bos = vocabulary.flag("add_bos_token", True)
        parts = _build_sentencepiece_parts(vocabulary)
    else:
        raise UnsupportedError(
            f"{vocabulary.file_name}: its tokenizer is of the kind {kind!r}, and only gpt2 and llama are "
            f"supported; {_HINT}."
        )
    skeleton = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": _added_tokens(vocabulary),
    }
    return skeleton | parts | {"post_processor": _post_processor(vocabulary, adds_bos)}, adds_bos


def _find_pre_tokenizer(kind: object, file_name: str) -> PreTokenizer:
    if kind in (None, "", "default"):
        raise UnsupportedError(
            f"{file_name}: it does not name its pre-tokenizer (files made before May 2024 split text "
            f"wrongly); download a newer file, or {_HINT}."
        )
    if not isinstance(kind, str) or kind not in PRE_TOKENIZERS:
        raise UnsupportedError(f"{file_name}: the pre-tokenizer {kind!r} is not supported; {_HINT}.")
    return PRE_TOKENIZERS[kind]


def _build_byte_level_parts(vocabulary: GgufVocabulary, pre_tokenizer: PreTokenizer) -> dict[str, Any]:
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
    """BPE over whole text with byte fallback.

    The prefix space is a normalizer and not `Metaspace`, because like SentencePiece (and llama.cpp) it gives
    every stretch of text between special tokens one more space, also to text that starts with one.
    """
    prefix = vocabulary.flag("add_space_prefix", True)
    prepend = [{"type": "Prepend", "prepend": "▁"}] if prefix else []
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    replace = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    restore = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    unknown = _unknown_token(vocabulary)
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": True,
        "byte_fallback": True,
        "ignore_merges": False,
        "vocab": _vocab(vocabulary),
        "merges": derive_merges(vocabulary),
    }
    return {
        "normalizer": {"type": "Sequence", "normalizers": [*prepend, replace]},
        "pre_tokenizer": None,
        "decoder": {
            "type": "Sequence",
            "decoders": [restore, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip],
        },
        "model": model,
    }


def derive_merges(vocabulary: GgufVocabulary) -> list[tuple[str, str]]:
    """SentencePiece scores -> BPE merges, best first.

    SentencePiece joins two neighbours whenever the joined text is a piece, the highest score first; so every
    way to cut a piece in two pieces is a merge with that piece's score. Control and user-defined pieces take no
    part.
    """
    mergeable = {TokenType.NORMAL, TokenType.UNUSED}
    scores = {
        text: score
        for text, kind, score in zip(vocabulary.tokens, vocabulary.types, vocabulary.scores(), strict=True)
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
    """Tokens that are found in raw text before anything else: special ones and user-defined ones."""
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
        for token_id, (text, kind) in enumerate(zip(vocabulary.tokens, vocabulary.types, strict=True))
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
    return None if token_id is None else {"SpecialToken": {"id": vocabulary.tokens[token_id], "type_id": 0}}


def _build_tokenizer_config(
    metadata: Mapping[str, Any], vocabulary: GgufVocabulary, adds_bos: bool
) -> dict[str, Any]:
    names = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
    special = {key: vocabulary.special_id(name) for key, name in names.items()}
    tokens = {key: vocabulary.tokens[token_id] for key, token_id in special.items() if token_id is not None}
    template = _read_chat_template(metadata, vocabulary.file_name)
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_bos_token": adds_bos,
        "add_eos_token": vocabulary.flag("add_eos_token", False),
        "clean_up_tokenization_spaces": False,
        **tokens,
        **({"chat_template": template} if template else {}),
        "template_adds_bos": _template_adds_bos(template, tokens),
    }


def _read_chat_template(metadata: Mapping[str, Any], file_name: str) -> str | list[dict[str, str]] | None:
    """The template as it stands in the file; with named variants, Hugging Face's list of them."""
    names = [key for key in metadata if key.startswith(_TEMPLATE_KEY + ".")]
    keys = [key for key in (_TEMPLATE_KEY, *names) if key in metadata]
    if not all(isinstance(metadata[key], str) for key in keys):
        raise InvalidSourceError(f"{file_name}: its chat template is not text.")
    if not names:
        return str(metadata[_TEMPLATE_KEY]) if keys else None
    return [
        {"name": key[len(_TEMPLATE_KEY) + 1 :] or "default", "template": str(metadata[key])} for key in keys
    ]


def _template_adds_bos(template: str | list[dict[str, str]] | None, tokens: dict[str, str]) -> bool:
    """Whether a rendered chat already starts with bos; then encoding must not put a second one."""
    bos = tokens.get("bos_token")
    if not bos or not template:
        return False
    try:
        chat = ChatTemplate.from_config(template, tokens)
        return chat.render([{"role": "user", "content": "Hello"}]).startswith(bos)
    except AppError:  # some templates want more than one user turn; their text still tells
        return "bos_token" in json.dumps(template) or bos in json.dumps(template, ensure_ascii=False)


def _build_generation_config(vocabulary: GgufVocabulary) -> dict[str, Any]:
    ids = {
        "bos_token_id": vocabulary.special_id("bos"),
        "eos_token_id": vocabulary.eos_ids(),
        "pad_token_id": vocabulary.special_id("padding"),
    }
    return {key: value for key, value in ids.items() if value is not None}


def _check_loads(content: str, file_name: str) -> None:
    try:
        tokenizers.Tokenizer.from_str(content)
    except Exception as error:  # the library raises bare Exception
        raise InvalidSourceError(
            f"{file_name}: its tokenizer data is inconsistent.", detail=str(error)
        ) from error

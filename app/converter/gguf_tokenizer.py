"""A GGUF's tokenizer metadata -> the tokenizer files of a Hugging Face repository.

`tokenizer.json` is complete: Hugging Face's `tokenizers` alone loads it (its format: tokenizers'
`Tokenizer.to_str`). Templates are copied word for word; what uploaders changed is theirs to change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from app.converter.gguf_tokenizer_json import build_tokenizer_json
from app.converter.gguf_vocabulary import GgufVocabulary
from app.core.errors import AppError, InvalidSourceError
from app.engine.chat_template import ChatTemplate
from app.engine.tokenizer import TokenizerJsonError, read_tokenizer_json

_TEMPLATE_KEY = "tokenizer.chat_template"


def build_tokenizer_files(
    metadata: Mapping[str, Any], config: dict[str, Any], file_name: str
) -> dict[str, str]:
    """The contents of tokenizer.json, tokenizer_config.json and generation_config.json, by name.

    `metadata` holds the GGUF's key-value pairs (arrays as lists or 1-D numpy arrays), `config` the
    model's config.json. Raises `UnsupportedError` for a tokenizer that would be guessed,
    `InvalidSourceError` for a damaged one.
    """
    vocabulary = GgufVocabulary.read(metadata, file_name)
    if len(vocabulary.tokens) > int(config.get("vocab_size") or len(vocabulary.tokens)):
        raise InvalidSourceError(
            "{file_name}: it has {num_tokens} tokens, but embeddings for {vocab_size}.",
            file_name=file_name,
            num_tokens=len(vocabulary.tokens),
            vocab_size=config["vocab_size"],
        )
    tokenizer, adds_bos = build_tokenizer_json(metadata, vocabulary)
    tokenizer_config = _build_tokenizer_config(metadata, vocabulary, adds_bos)
    contents = {
        "tokenizer.json": tokenizer,
        "tokenizer_config.json": tokenizer_config,
        "generation_config.json": _build_generation_config(vocabulary),
    }
    files = {
        name: json.dumps(content, ensure_ascii=False, indent=None)
        for name, content in contents.items()
    }
    _check_loads(files["tokenizer.json"], file_name)
    return files


def _build_tokenizer_config(
    metadata: Mapping[str, Any], vocabulary: GgufVocabulary, adds_bos: bool
) -> dict[str, Any]:
    names = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
    special = {key: vocabulary.special_id(name) for key, name in names.items()}
    tokens = {
        key: vocabulary.tokens[token_id]
        for key, token_id in special.items()
        if token_id is not None
    }
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


def _read_chat_template(
    metadata: Mapping[str, Any], file_name: str
) -> str | list[dict[str, str]] | None:
    """The template as it stands in the file; with named variants, Hugging Face's list of them."""
    names = [key for key in metadata if key.startswith(_TEMPLATE_KEY + ".")]
    keys = [key for key in (_TEMPLATE_KEY, *names) if key in metadata]
    if not all(isinstance(metadata[key], str) for key in keys):
        raise InvalidSourceError("{file_name}: its chat template is not text.", file_name=file_name)
    if not names:
        return str(metadata[_TEMPLATE_KEY]) if keys else None
    return [
        {"name": key[len(_TEMPLATE_KEY) + 1 :] or "default", "template": str(metadata[key])}
        for key in keys
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
        return "bos_token" in json.dumps(template) or bos in json.dumps(
            template, ensure_ascii=False
        )


def _build_generation_config(vocabulary: GgufVocabulary) -> dict[str, Any]:
    ids = {
        "bos_token_id": vocabulary.special_id("bos"),
        "eos_token_id": vocabulary.eos_ids(),
        "pad_token_id": vocabulary.special_id("padding"),
    }
    return {key: value for key, value in ids.items() if value is not None}


def _check_loads(content: str, file_name: str) -> None:
    try:
        read_tokenizer_json(content)
    except TokenizerJsonError as error:
        raise InvalidSourceError(
            "{file_name}: its tokenizer data is inconsistent.",
            file_name=file_name,
            detail=str(error),
        ) from error

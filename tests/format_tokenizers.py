"""The starter's tokenizer dressed as that of another model: its template and its special tokens."""

from __future__ import annotations

import json
from pathlib import Path

from app.engine.tokenizer import Tokenizer
from tests.chat_templates import SPECIAL_TOKENS, TEMPLATES
from tests.starter_tokenizer import build_files, load

# The ids 3 to 16 are special tokens of the starter that its chats do not use.
_FIRST_SPARE = 3
# Of Qwen's tokenizers: tokens of their own, yet not special ones. At 49100 are rare words.
_ADDED_TEXTS = ("<tool_call>", "</tool_call>", "<think>", "</think>")
_FIRST_ADDED = 49100


def load_dressed(starter_gguf: Path, name: str, directory: Path) -> Tokenizer:
    """The tokenizer of a model whose template is `TEMPLATES[name]`."""
    files = dress(dict(build_files(starter_gguf)), name)
    directory.mkdir(parents=True, exist_ok=True)
    return load(files, directory)


def dress(files: dict[str, str], name: str) -> dict[str, str]:
    """`files` of the starter's tokenizer with the template and tokens of another model."""
    content = json.loads(files["tokenizer.json"])
    config = json.loads(files["tokenizer_config.json"])
    config["chat_template"] = TEMPLATES[name]
    for token_id, text in enumerate(SPECIAL_TOKENS.get(name, ()), _FIRST_SPARE):
        _rename(content, token_id, text)
    if name == "qwen3":
        for token_id, text in enumerate(_ADDED_TEXTS, _FIRST_ADDED):
            _add(content, token_id, text)
    return files | {
        "tokenizer.json": json.dumps(content),
        "tokenizer_config.json": json.dumps(config),
    }


def _rename(content: dict[str, object], token_id: int, text: str) -> None:
    vocab, added = content["model"]["vocab"], content["added_tokens"]  # type: ignore[index]
    (entry,) = [token for token in added if token["id"] == token_id]
    vocab[text] = vocab.pop(entry["content"])
    entry["content"] = text


def _add(content: dict[str, object], token_id: int, text: str) -> None:
    """A word that no merge makes any more becomes a token of its own."""
    model = content["model"]
    vocab = model["vocab"]  # type: ignore[index]
    (old,) = [piece for piece, index in vocab.items() if index == token_id]
    vocab[text] = vocab.pop(old)
    model["merges"] = [  # type: ignore[index]
        merge
        for merge in model["merges"]  # type: ignore[index]
        if "".join(merge if isinstance(merge, list) else merge.split(" ")) != old
    ]
    entry = {"id": token_id, "content": text, "special": False}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    content["added_tokens"].append(entry | flags)  # type: ignore[attr-defined]

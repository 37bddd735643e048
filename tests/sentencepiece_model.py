"""A small SentencePiece BPE model, trained on the spot, and the GGUF metadata it gives."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Any

import sentencepiece

from app.converter.gguf_tokenizer import build_tokenizer_files
from app.converter.gguf_vocabulary import TokenType
from tests.text_samples import VARIED_TEXTS

_SENTENCES = (
    "the quick brown fox jumps over the lazy dog",
    "she sells sea shells by the sea shore",
    "def encode(self, text: str) -> list[int]: return self.ids",
    "    indented    code    with    runs    of    spaces",
    "1234567890 3.14159 2024-05-01",
    "今天天气很好我们去公园散步",
    "今日は天気がいいので散歩に行きます",
    "Привет мир это проверка токенизатора",
)


@lru_cache
def train(*, add_dummy_prefix: bool = True) -> sentencepiece.SentencePieceProcessor:
    """Llama's settings: BPE, byte fallback, digits apart, no normalization, spaces kept."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([*_SENTENCES * 4, *(text for text in VARIED_TEXTS if text.strip())]),
        model_writer=model,
        vocab_size=600,
        model_type="bpe",
        character_coverage=0.98,
        byte_fallback=True,
        split_digits=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True,
        add_dummy_prefix=add_dummy_prefix,
        user_defined_symbols=["<think>"],
        num_threads=1,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def create_metadata(processor: sentencepiece.SentencePieceProcessor) -> dict[str, Any]:
    """The `tokenizer.ggml.*` pairs; the source of the types is gguf-py's `vocab.py`."""
    ids = range(processor.vocab_size())
    metadata = {
        "model": "llama",
        "tokens": [processor.id_to_piece(i) for i in ids],
        "scores": [processor.get_score(i) for i in ids],
        "token_type": [int(_type_of(processor, i)) for i in ids],
        "unknown_token_id": processor.unk_id(),
        "bos_token_id": processor.bos_id(),
        "eos_token_id": processor.eos_id(),
    }
    return {f"tokenizer.ggml.{name}": value for name, value in metadata.items()}


def build_files() -> dict[str, str]:
    """What the converter writes for the model with the prefix space."""
    return build_tokenizer_files(create_metadata(train()), {}, "spm.gguf")


def _type_of(processor: sentencepiece.SentencePieceProcessor, token_id: int) -> TokenType:
    if processor.is_unknown(token_id):
        return TokenType.UNKNOWN
    if processor.is_control(token_id):
        return TokenType.CONTROL
    if processor.is_byte(token_id):
        return TokenType.BYTE
    is_user_defined = processor.id_to_piece(token_id) == "<think>"
    return TokenType.USER_DEFINED if is_user_defined else TokenType.NORMAL

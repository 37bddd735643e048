"""The first bytes of a GGUF file, cut anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.errors import InvalidSourceError
from app.spec.gguf_head import read_gguf_head
from app.spec.gguf_header import read_gguf_header_of
from app.spec.registry import create_spec
from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tied model, so that a cut header must assume too much."""
    model = TinyModel(tied=True)
    target = tmp_path_factory.mktemp("head") / "model.gguf"
    return write_gguf(target, model, to_gguf_tensors(model, model.weights()))


def test_every_cut_tells_what_stands_before_it(path: Path) -> None:
    content, whole = path.read_bytes(), read_gguf_header_of(path)
    tokens_at = content.index(b"tokenizer.ggml.tokens")
    keys = set(whole.metadata)
    for size in range(24, min(tensor.offset for tensor in whole.tensors), 7):
        head = read_gguf_head(content[:size], file="m", total_bytes=len(content))
        assert head.num_tensors == len(whole.tensors)
        assert set(head.metadata) <= keys
        if head.tensors is not None:
            assert head.tensors == whole.tensors
        elif size < tokens_at:
            with pytest.raises(InvalidSourceError):
                head.config()
        elif head.vocab_size:
            spec = create_spec(head.config())
            assert (spec.vocab_size, spec.num_hidden_layers) == (288, 2)
            assert not spec.tie_word_embeddings


def test_less_than_the_counts_is_too_little(path: Path) -> None:
    for size in range(24):
        with pytest.raises(InvalidSourceError):
            read_gguf_head(path.read_bytes()[:size], file="m", total_bytes=1000)


def test_a_whole_header_tells_all(path: Path) -> None:
    content = path.read_bytes()
    data_start = min(tensor.offset for tensor in read_gguf_header_of(path).tensors)
    head = read_gguf_head(content[:data_start], file="m", total_bytes=len(content))
    assert head.metadata["tokenizer.ggml.merges"] == ["a b", "c d"]
    assert create_spec(head.config()).tie_word_embeddings


def test_damage_is_named_as_in_the_file(path: Path) -> None:
    with pytest.raises(InvalidSourceError, match="m: this is not a GGUF file"):
        read_gguf_head(b"GGML" + bytes(100), file="m", total_bytes=1000)

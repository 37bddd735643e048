"""GGUF metadata -> the Hugging Face configuration that the adapters read.

Key names: ggml-org/llama.cpp:gguf-py/gguf/constants.py. What a model's own configuration says and
GGUF does not store is a fact of its architecture, declared in gguf_architectures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from app.core.errors import InvalidSourceError, UnsupportedError
from app.core.sentence import Sentence
from app.spec.gguf_architecture import GgufArchitecture
from app.spec.gguf_architectures import ARCHITECTURES
from app.spec.gguf_metadata import GgufMetadata
from app.spec.gguf_rope import rope_parameters

# vocab_size: the rows of the embedding decide. tensor_data_layout: a note on the row order.
IGNORED_KEYS = frozenset({"vocab_size", "tensor_data_layout", "rope.scaling.finetuned"})


def config_from_gguf(
    metadata: Mapping[str, Any],
    shapes: Mapping[str, tuple[int, ...]],
    rope_tables: Mapping[str, npt.NDArray[np.float32]],
    *,
    file: str,
) -> dict[str, Any]:
    """The config.json of a GGUF source.

    `shapes` are those of all tensors by GGUF name, `rope_tables` the tensors of ROPE_TABLES that
    the file has. Raises UnsupportedError for an architecture, key or value that is not known,
    InvalidSourceError for one that is missing or ill-typed.
    """
    name = architecture_of(metadata, file)
    architecture = ARCHITECTURES[name]
    reader = GgufMetadata(metadata, name, file)
    config = _sizes(reader, architecture)
    if not 0 < config["num_hidden_layers"] <= len(shapes):
        # Before anything is made per layer: a damaged count would ask for any amount of memory.
        raise InvalidSourceError(
            "{file}: block_count is {num_layers:,}, but there are only {num_tensors:,} tensors.",
            file=file,
            num_layers=config["num_hidden_layers"],
            num_tensors=len(shapes),
        )
    config["vocab_size"] = _vocab_size(shapes, file)
    config["tie_word_embeddings"] = "output.weight" not in shapes
    rotary_dim = _rotary_dim(reader, architecture, config["head_dim"])
    config["rope_parameters"] = rope_parameters(reader, config["head_dim"], rotary_dim, rope_tables)
    config |= architecture.fixed
    config |= {key: reader.number(stored) for stored, key in architecture.numbers.items()}
    config |= architecture.read_more(reader, config, shapes)
    config |= _token_ids(metadata, file)
    _check_plain_decoder(reader, architecture)
    reader.finish(IGNORED_KEYS)
    return config


def architecture_of(metadata: Mapping[str, Any], file: str) -> str:
    """`general.architecture`; refuses, by name, files that hold no language model we know."""
    kind, name = metadata.get("general.type", "model"), metadata.get("general.architecture")
    if not isinstance(kind, str) or kind != "model":
        raise _not_a_model(file, _article(str(kind)))
    if not isinstance(name, str) or not name:
        raise InvalidSourceError("{file}: the metadata has no general.architecture.", file=file)
    if name == "clip":
        raise _not_a_model(file, Sentence("a vision projector (clip)"))
    if name in ("eagle3", "dflash") or name.endswith("_assistant"):
        raise _not_a_model(file, Sentence("a draft model ({name})", name=name))
    if name not in ARCHITECTURES:
        raise UnsupportedError(
            "{file}: the architecture {name!r} is not supported.", file=file, name=name
        )
    return name


def _not_a_model(file: str, what: str) -> UnsupportedError:
    return UnsupportedError(
        "{file}: this GGUF holds {what}, not a language model.", file=file, what=what
    )


def _article(kind: str) -> str:
    known = {
        "mmproj": Sentence("a vision projector (mmproj)"),
        "adapter": Sentence("a LoRA adapter"),
        "imatrix": Sentence("an importance matrix"),
    }
    return known.get(kind, f"a {kind!r}")


def _sizes(reader: GgufMetadata, architecture: GgufArchitecture) -> dict[str, Any]:
    eps_key, eps_name = architecture.eps
    hidden_size, num_heads = (
        reader.integer("embedding_length"),
        reader.integer("attention.head_count"),
    )
    return {
        "architectures": [architecture.class_name],
        "model_type": architecture.model_type,
        "hidden_size": hidden_size,
        "intermediate_size": _inner_size(reader, architecture),
        "num_hidden_layers": reader.integer("block_count"),
        "num_attention_heads": num_heads,
        "num_key_value_heads": reader.integer("attention.head_count_kv", num_heads),
        "head_dim": reader.integer("rope.dimension_count")
        if architecture.is_latent
        else _head_dim(reader, hidden_size, num_heads),
        "max_position_embeddings": reader.integer("context_length"),
        eps_name: reader.number(eps_key),
        "dtype": "float32",
    }


def _inner_size(reader: GgufMetadata, architecture: GgufArchitecture) -> int:
    if architecture.has_dense_mlp:
        return int(reader.integer("feed_forward_length"))
    experts = reader.integer("expert_feed_forward_length")
    return int(reader.integer("feed_forward_length", experts))


def _head_dim(reader: GgufMetadata, hidden_size: int, num_heads: int) -> int:
    if num_heads <= 0:
        raise InvalidSourceError(
            "{file}: attention.head_count is {num_heads}.", file=reader.file, num_heads=num_heads
        )
    key_length = reader.integer("attention.key_length", hidden_size // num_heads)
    value_length = reader.integer("attention.value_length", key_length)
    if value_length != key_length:
        raise reader.refuse(
            "attention.value_length",
            Sentence(
                "{value_length} differs from key_length {key_length}",
                value_length=value_length,
                key_length=key_length,
            ),
        )
    return int(key_length)


def _rotary_dim(reader: GgufMetadata, architecture: GgufArchitecture, head_dim: int) -> int:
    rotary = reader.integer("rope.dimension_count", head_dim)
    is_known = architecture.partial_rotary and 0 < rotary < head_dim
    if rotary != head_dim and not is_known:
        raise reader.refuse(
            "rope.dimension_count",
            Sentence(
                "rotating {rotary} of {head_dim} dimensions is not supported",
                rotary=rotary,
                head_dim=head_dim,
            ),
        )
    return int(rotary)


def _vocab_size(shapes: Mapping[str, tuple[int, ...]], file: str) -> int:
    if "token_embd.weight" not in shapes:
        raise InvalidSourceError("{file}: the tensor token_embd.weight is missing.", file=file)
    return shapes["token_embd.weight"][0]


def _check_plain_decoder(reader: GgufMetadata, architecture: GgufArchitecture) -> None:
    num_experts = reader.integer("expert_count", 0) or reader.integer("expert_used_count", 0)
    if num_experts and not architecture.has_experts:
        raise reader.refuse("expert_count", Sentence("a mixture of experts is not supported"))
    if reader.value("attention.causal", True) is not True:
        raise reader.refuse(
            "attention.causal", Sentence("a model without causal attention is not supported")
        )
    if reader.integer("pooling_type", 0):
        raise reader.refuse("pooling_type", Sentence("an embedding model is not supported"))


def _token_ids(metadata: Mapping[str, Any], file: str) -> dict[str, int]:
    keys = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
    ids = {}
    for name, key in keys.items():
        found = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if found is not None and type(found) is not int:
            raise InvalidSourceError(
                "{file}: tokenizer.ggml.{key}_token_id is not an integer.", file=file, key=key
            )
        if found is not None:
            ids[name] = found
    return ids

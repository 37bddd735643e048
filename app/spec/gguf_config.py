"""GGUF metadata -> the Hugging Face configuration that the adapters read.

Key names: ggml-org/llama.cpp:gguf-py/gguf/constants.py. What a model's own configuration says and
GGUF does not store is a fact of its architecture, tabled here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.core.errors import InvalidSourceError, UnsupportedError
from app.spec.gguf_metadata import GgufMetadata
from app.spec.gguf_rope import rope_parameters


@dataclass(frozen=True, slots=True)
class GgufArchitecture:
    """Which Hugging Face class a GGUF architecture stands for."""

    class_name: str
    model_type: str
    has_optional_biases: bool = False


ARCHITECTURES = {
    "llama": GgufArchitecture("LlamaForCausalLM", "llama", has_optional_biases=True),
    "qwen2": GgufArchitecture("Qwen2ForCausalLM", "qwen2"),
    "qwen3": GgufArchitecture("Qwen3ForCausalLM", "qwen3"),
}

# vocab_size: the rows of the embedding decide. tensor_data_layout: a note on the row order.
IGNORED_KEYS = frozenset({"vocab_size", "tensor_data_layout", "rope.scaling.finetuned"})

_ATTENTION_LINEARS = ("attn_q", "attn_k", "attn_v", "attn_output")
_MLP_LINEARS = ("ffn_gate", "ffn_up", "ffn_down")


def config_from_gguf(
    metadata: Mapping[str, Any],
    shapes: Mapping[str, tuple[int, ...]],
    rope_freqs: npt.NDArray[np.float32] | None,
    *,
    file: str,
) -> dict[str, Any]:
    """The config.json of a GGUF source.

    `shapes` are those of all tensors by GGUF name, `rope_freqs` the tensor `rope_freqs.weight`
    where there is one (divisors of the rotary frequencies, [head_dim / 2]). Raises
    UnsupportedError for an architecture, key or value that is not known, InvalidSourceError for
    one that is missing or ill-typed.
    """
    name = architecture_of(metadata, file)
    reader = GgufMetadata(metadata, name, file)
    config = _sizes(reader)
    if not 0 < config["num_hidden_layers"] <= len(shapes):
        # Before anything is made per layer: a damaged count would ask for any amount of memory.
        raise InvalidSourceError(
            f"{file}: block_count is {config['num_hidden_layers']:,}, but there are only "
            f"{len(shapes):,} tensors."
        )
    config["vocab_size"] = _vocab_size(shapes, file)
    config["tie_word_embeddings"] = "output.weight" not in shapes
    config["rope_parameters"] = rope_parameters(reader, config["head_dim"], rope_freqs)
    config |= _class_fields(reader, ARCHITECTURES[name], shapes) | _token_ids(metadata, file)
    _check_plain_decoder(reader)
    reader.finish(IGNORED_KEYS)
    return config


def architecture_of(metadata: Mapping[str, Any], file: str) -> str:
    """`general.architecture`; refuses, by name, files that hold no language model we know."""
    kind, name = metadata.get("general.type", "model"), metadata.get("general.architecture")
    if not isinstance(kind, str) or kind != "model":
        raise _not_a_model(file, _article(str(kind)))
    if not isinstance(name, str) or not name:
        raise InvalidSourceError(f"{file}: the metadata has no general.architecture.")
    if name == "clip":
        raise _not_a_model(file, "a vision projector (clip)")
    if name in ("eagle3", "dflash") or name.endswith("_assistant"):
        raise _not_a_model(file, f"a draft model ({name})")
    if name not in ARCHITECTURES:
        raise UnsupportedError(f"{file}: the architecture {name!r} is not supported.")
    return name


def _not_a_model(file: str, what: str) -> UnsupportedError:
    return UnsupportedError(f"{file}: this GGUF holds {what}, not a language model.")


def _article(kind: str) -> str:
    known = {
        "mmproj": "a vision projector (mmproj)",
        "adapter": "a LoRA adapter",
        "imatrix": "an importance matrix",
    }
    return known.get(kind, f"a {kind!r}")


def _sizes(reader: GgufMetadata) -> dict[str, Any]:
    hidden_size, num_heads = (
        reader.integer("embedding_length"),
        reader.integer("attention.head_count"),
    )
    return {
        "hidden_size": hidden_size,
        "intermediate_size": reader.integer("feed_forward_length"),
        "num_hidden_layers": reader.integer("block_count"),
        "num_attention_heads": num_heads,
        "num_key_value_heads": reader.integer("attention.head_count_kv", num_heads),
        "head_dim": _head_dim(reader, hidden_size, num_heads),
        "max_position_embeddings": reader.integer("context_length"),
        "rms_norm_eps": reader.number("attention.layer_norm_rms_epsilon"),
        "hidden_act": "silu",
        "dtype": "float32",
    }


def _head_dim(reader: GgufMetadata, hidden_size: int, num_heads: int) -> int:
    if num_heads <= 0:
        raise InvalidSourceError(f"{reader.file}: attention.head_count is {num_heads}.")
    key_length = reader.integer("attention.key_length", hidden_size // num_heads)
    value_length = reader.integer("attention.value_length", key_length)
    if value_length != key_length:
        raise reader.refuse(
            "attention.value_length", f"{value_length} differs from key_length {key_length}"
        )
    rotary = reader.integer("rope.dimension_count", key_length)
    if rotary != key_length:
        raise reader.refuse(
            "rope.dimension_count", f"rotating {rotary} of {key_length} dimensions is not supported"
        )
    return int(key_length)


def _vocab_size(shapes: Mapping[str, tuple[int, ...]], file: str) -> int:
    if "token_embd.weight" not in shapes:
        raise InvalidSourceError(f"{file}: the tensor token_embd.weight is missing.")
    return shapes["token_embd.weight"][0]


def _class_fields(
    reader: GgufMetadata, architecture: GgufArchitecture, shapes: Collection[str]
) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "architectures": [architecture.class_name],
        "model_type": architecture.model_type,
    }
    window = reader.integer("attention.sliding_window", 0)
    if window and architecture.model_type != "llama":
        raise reader.refuse(
            "attention.sliding_window", "a sliding window is not known for this architecture"
        )
    if window:
        # Mistral v0.1 shares the `llama` architecture; the window is what tells it apart.
        return {
            "architectures": ["MistralForCausalLM"],
            "model_type": "mistral",
            "sliding_window": window,
        }
    if architecture.has_optional_biases:
        fields["attention_bias"] = _has_biases(reader.file, _ATTENTION_LINEARS, shapes)
        fields["mlp_bias"] = _has_biases(reader.file, _MLP_LINEARS, shapes)
    return fields


def _has_biases(file: str, linears: tuple[str, ...], shapes: Collection[str]) -> bool:
    present = [name for name in linears if f"blk.0.{name}.bias" in shapes]
    if present and len(present) != len(linears):
        raise UnsupportedError(
            f"{file}: only {', '.join(present)} of {', '.join(linears)} have biases."
        )
    return bool(present)


def _check_plain_decoder(reader: GgufMetadata) -> None:
    if reader.integer("expert_count", 0) or reader.integer("expert_used_count", 0):
        raise reader.refuse("expert_count", "a mixture of experts is not supported")
    if reader.value("attention.causal", True) is not True:
        raise reader.refuse("attention.causal", "a model without causal attention is not supported")
    if reader.integer("pooling_type", 0):
        raise reader.refuse("pooling_type", "an embedding model is not supported")


def _token_ids(metadata: Mapping[str, Any], file: str) -> dict[str, int]:
    keys = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
    ids = {}
    for name, key in keys.items():
        found = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if found is not None and type(found) is not int:
            raise InvalidSourceError(f"{file}: tokenizer.ggml.{key}_token_id is not an integer.")
        if found is not None:
            ids[name] = found
    return ids

"""Sources with the shapes of real models and files full of holes: headers are real, weights are 0.

Every byte is read and decoded as if it were there, so time and memory are those of a real model;
only the disk is spared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import tokenizers
from gguf.constants import GGMLQuantizationType

from app.spec.registry import create_spec, weight_names
from app.spec.weights import iter_linears, iter_vectors

# Llama-2-7B's layers with the vocabulary of Qwen2.5: the largest embedding in common use.
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "head_dim": 128,
    "vocab_size": 152064,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "eos_token_id": 0,
}
QWEN3_30B_A3B: dict[str, Any] = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "moe_intermediate_size": 768,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "norm_topk_prob": True,
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "vocab_size": 151936,
    "max_position_embeddings": 40960,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "tie_word_embeddings": False,
    "eos_token_id": 0,
}
_GGUF_NAMES = {
    "embed_tokens": "token_embd",
    "norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def write_sparse_folder(folder: Path, model: Mapping[str, Any] = CONFIG, **changes: Any) -> Path:
    """A Hugging Face folder in bfloat16; `changes` are to the configuration `model`."""
    config = {**model, **changes}
    names = weight_names(config)
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0}, []))
    (folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
    entries, end = {}, 0
    for name, shape in iter_tensors(config):
        start, end = end, end + 2 * int(np.prod(shape))
        key = names.vector(name) if len(shape) == 1 else f"{names.stem(name)}.weight"
        entries[key] = {
            "dtype": "BF16",
            "shape": list(shape),
            "data_offsets": [start, end],
        }
    header = json.dumps(entries).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + end)
    return folder


def write_sparse_gguf(path: Path, kind: GGMLQuantizationType, **changes: Any) -> Path:
    """A GGUF with every linear of one type; `changes` are to `CONFIG`."""
    config = CONFIG | changes
    writer = gguf.GGUFWriter(path, "llama")
    add_metadata(writer, config)
    num_bytes = 0
    for name, shape in iter_tensors(config):
        of_tensor = kind if len(shape) == 2 else GGMLQuantizationType.F32
        size = _tensor_bytes(shape, of_tensor)
        _add_info(writer, gguf_name(name), shape, of_tensor, size)
        num_bytes += -(-size // 32) * 32
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as file:
        start = -(-path.stat().st_size // 32) * 32
        file.truncate(start + num_bytes)
    return path


def iter_tensors(config: dict[str, Any]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Canonical name and shape of everything a model of this config.json holds."""
    spec = create_spec(config)
    yield from iter_linears(spec)
    yield from iter_vectors(spec)


def gguf_name(name: str) -> str:
    """GGUF's word for a canonical name."""
    if name in _GGUF_NAMES:
        return f"{_GGUF_NAMES[name]}.weight"
    _, index, local = name.split(".", 2)
    return f"blk.{index}.{_GGUF_NAMES[local]}.weight"


def _tensor_bytes(shape: tuple[int, ...], kind: GGMLQuantizationType) -> int:
    block_size, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    return int(np.prod(shape)) // block_size * block_bytes


def _add_info(
    writer: gguf.GGUFWriter,
    name: str,
    shape: tuple[int, ...],
    kind: GGMLQuantizationType,
    size: int,
) -> None:
    writer.add_tensor_info(name, shape, np.dtype(np.float32), size, raw_dtype=kind)


def add_metadata(writer: gguf.GGUFWriter, config: dict[str, Any], num_tokens: int = 2) -> None:
    """The header of a Llama of this config.json, with a vocabulary of no meaning."""
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(["a", "aa", *(f"t{i}" for i in range(2, num_tokens))])
    writer.add_token_types([1] * num_tokens)
    writer.add_token_merges(["a a"])
    writer.add_eos_token_id(0)

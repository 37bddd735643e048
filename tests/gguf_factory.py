"""Writes small GGUF files for tests: tiny random models in gguf's own words, and raw headers."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Q = gguf.GGMLQuantizationType

# Byte positions of fp16 scales in a block: random bytes there would often be infinite.
_FP16_AT = {
    "Q4_0": (0,), "Q4_1": (0, 2), "Q5_0": (0,), "Q5_1": (0, 2), "Q8_0": (0,),
    "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q5_K": (0, 2), "Q6_K": (208,),
    "IQ4_NL": (0,), "IQ4_XS": (0,), "MXFP4": (), "TQ1_0": (52,), "TQ2_0": (64,),
    "IQ2_XXS": (0,), "IQ2_XS": (0,), "IQ2_S": (0,), "IQ3_XXS": (0,), "IQ3_S": (0,),
    "IQ1_S": (0,), "IQ1_M": (), "NVFP4": (),
}  # fmt: skip
RANDOM_TYPES = tuple(_FP16_AT)


@dataclass(frozen=True)
class TinyModel:
    """Sizes of a tiny model; 64 columns suit the types of 32 elements, 256 the K-quants."""

    architecture: str = "llama"
    hidden: int = 64
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 16
    inner: int = 96
    layers: int = 2
    vocab: int = 288
    tied: bool = False
    rope_theta: float = 10000.0
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def has_qk_norm(self) -> bool:
        return self.architecture == "qwen3"

    @property
    def has_qkv_bias(self) -> bool:
        return self.architecture == "qwen2"

    @property
    def is_permuted(self) -> bool:
        return self.architecture == "llama"

    def weights(self, seed: int = 0) -> dict[str, Floats]:
        """Random weights under canonical names, in Hugging Face's row order."""
        rng = np.random.default_rng(seed)
        q_size, kv_size = self.heads * self.head_dim, self.kv_heads * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {"embed_tokens": (self.vocab, self.hidden)}
        for index in range(self.layers):
            layer = {
                "self_attn.q_proj": (q_size, self.hidden),
                "self_attn.k_proj": (kv_size, self.hidden),
                "self_attn.v_proj": (kv_size, self.hidden),
                "self_attn.o_proj": (self.hidden, q_size),
                "mlp.gate_proj": (self.inner, self.hidden),
                "mlp.up_proj": (self.inner, self.hidden),
                "mlp.down_proj": (self.hidden, self.inner),
                "input_layernorm": (self.hidden,),
                "post_attention_layernorm": (self.hidden,),
            }
            if self.has_qk_norm:
                layer |= {
                    "self_attn.q_norm": (self.head_dim,),
                    "self_attn.k_norm": (self.head_dim,),
                }
            if self.has_qkv_bias:
                sizes = {"q": q_size, "k": kv_size, "v": kv_size}
                layer |= {f"self_attn.{n}_proj.bias": (size,) for n, size in sizes.items()}
            shapes |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
        shapes["norm"] = (self.hidden,)
        if not self.tied:
            shapes["lm_head"] = (self.vocab, self.hidden)
        return {n: rng.standard_normal(s).astype(np.float32) * 0.1 for n, s in shapes.items()}


_GLOBAL = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
_LAYER = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def gguf_name(canonical: str) -> str:
    """`layers.0.self_attn.q_proj.bias` -> `blk.0.attn_q.bias`."""
    stem = canonical.removesuffix(".bias")
    suffix = "bias" if stem != canonical else "weight"
    if stem in _GLOBAL:
        return f"{_GLOBAL[stem]}.{suffix}"
    _, index, name = stem.split(".", 2)
    return f"blk.{index}.{_LAYER[name]}.{suffix}"


def permute(weight: Floats, num_heads: int) -> Floats:
    """What llama.cpp's converter does to q and k (conversion/llama.py: LlamaModel.permute)."""
    half = weight.shape[0] // num_heads // 2
    return (
        weight.reshape(num_heads, 2, half, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)
    )


def unpermute(weight: Floats, num_heads: int) -> Floats:
    """The inverse of `permute`."""
    half = weight.shape[0] // num_heads // 2
    return (
        weight.reshape(num_heads, half, 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)
    )


def num_heads_of(model: TinyModel, canonical: str) -> int | None:
    """The heads by which this tensor's rows are permuted in the file; None when they are not."""
    heads = {"q_proj": model.heads, "k_proj": model.kv_heads}
    name = canonical.removesuffix(".bias").rsplit(".", 1)[-1]
    return heads.get(name) if model.is_permuted else None


def to_gguf_tensors(model: TinyModel, weights: Mapping[str, Floats]) -> dict[str, Floats]:
    """The weights as llama.cpp's converter would name and permute them."""
    tensors = {}
    for canonical, weight in weights.items():
        heads = num_heads_of(model, canonical)
        tensors[gguf_name(canonical)] = permute(weight, heads) if heads else weight
    return tensors


def tokenizer_metadata(vocab: int) -> dict[str, Any]:
    """A byte-level tokenizer: 256 byte tokens, three controls, unused ids up to `vocab`."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    characters = {byte: chr(byte) for byte in printable}
    characters |= {byte: chr(256 + index) for index, byte in enumerate(others)}
    tokens = [characters[byte] for byte in range(256)]
    tokens += ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "ab", "cd"]
    types = [1] * 256 + [3] * 3 + [1] * 2 + [5] * (vocab - 261)
    tokens += [f"[PAD{index}]" for index in range(vocab - 261)]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": ["a b", "c d"],
        "tokenizer.ggml.bos_token_id": 256,
        "tokenizer.ggml.eos_token_id": 258,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": "{% for m in messages %}{{ m['content'] }}{% endfor %}",
    }


def model_metadata(model: TinyModel) -> dict[str, Any]:
    """All keys but `general.architecture`, which the writer adds."""
    prefix = model.architecture
    sizes = {
        f"{prefix}.block_count": model.layers,
        f"{prefix}.context_length": 512,
        f"{prefix}.embedding_length": model.hidden,
        f"{prefix}.feed_forward_length": model.inner,
        f"{prefix}.attention.head_count": model.heads,
        f"{prefix}.attention.head_count_kv": model.kv_heads,
        f"{prefix}.attention.key_length": model.head_dim,
        f"{prefix}.attention.value_length": model.head_dim,
        f"{prefix}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{prefix}.rope.freq_base": model.rope_theta,
    }
    return {**sizes, **tokenizer_metadata(model.vocab), **model.metadata}


def write_gguf(
    path: Path,
    model: TinyModel,
    tensors: Mapping[str, Floats],
    types: Mapping[str, Q] | None = None,
    *,
    max_tensors_per_shard: int = 0,
) -> Path:
    """Writes tensors, quantized by gguf to `types` (default F32); returns the (first) file.

    Types that gguf cannot quantize get random blocks.
    """
    metadata = model_metadata(model)
    return write_tensors(path, model.architecture, metadata, tensors, types, max_tensors_per_shard)


def write_tensors(
    path: Path,
    architecture: str,
    metadata: Mapping[str, Any],
    tensors: Mapping[str, Floats],
    types: Mapping[str, Q] | None = None,
    max_tensors_per_shard: int = 0,
) -> Path:
    """`write_gguf` of any architecture; metadata of value None is left out."""
    writer = gguf.GGUFWriter(path, architecture, split_max_tensors=max_tensors_per_shard)
    for key, value in metadata.items():
        if value is not None:
            _add_value(writer, key, value)
    for index, (name, values) in enumerate(tensors.items()):
        kind = (types or {}).get(name, Q.F32)
        writer.add_tensor(name, encode(values, kind, seed=index), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    shards = sorted(path.parent.glob(f"{path.stem}-00001-of-*"))
    return shards[0] if shards else path


def encode(values: Floats, kind: Q, seed: int = 0) -> npt.NDArray[Any]:
    """The tensor's data in a ggml type."""
    try:
        return gguf.quants.quantize(values, kind)
    except NotImplementedError:
        return random_blocks(kind, values.shape[0], values.shape[1], np.random.default_rng(seed))


def random_blocks(
    kind: Q, rows: int, columns: int, rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Random bytes whose fp16 scales are finite: uint8 [rows, bytes of a row]."""
    block_size, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    raw = rng.integers(0, 256, (rows, columns // block_size, block_bytes), dtype=np.uint8)
    for start in _FP16_AT[kind.name]:
        half = rng.integers(0, 1 << 16, raw.shape[:2]).astype(np.uint16)
        finite = np.where((half & 0x7C00) == 0x7C00, half & 0x83FF, half).astype(np.uint16)
        raw[..., start : start + 2] = finite[..., None].view(np.uint8)
    if kind is Q.MXFP4:
        raw[..., 0] = np.minimum(raw[..., 0], 250)  # larger exponents overflow float32
    if kind is Q.IQ1_M:
        raw[..., -1] &= 0x3F  # its scale's top nibble: keeps the exponent below infinity
    return raw.reshape(rows, -1)


def _add_value(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    match value:
        case bool():
            writer.add_bool(key, value)
        case int():
            writer.add_uint32(key, value)
        case float():
            writer.add_float32(key, value)
        case str():
            writer.add_string(key, value)
        case _:
            writer.add_array(key, value)


# --- raw headers ---------------------------------------------------------------------------------


def raw_string(text: str | bytes, length: int | None = None) -> bytes:
    """A string; `length` lies about it."""
    data = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(data) if length is None else length) + data


def raw_value(key: str, value_type: int, payload: bytes) -> bytes:
    """One key-value pair."""
    return raw_string(key) + struct.pack("<I", value_type) + payload


def raw_tensor(name: str, shape: tuple[int, ...], type_id: int, offset: int) -> bytes:
    """One tensor info; `shape` in NumPy's order."""
    dims = struct.pack(f"<I{len(shape)}Q", len(shape), *reversed(shape))
    return raw_string(name) + dims + struct.pack("<IQ", type_id, offset)


def raw_gguf(
    values: tuple[bytes, ...] = (),
    tensors: tuple[bytes, ...] = (),
    *,
    version: int = 3,
    num_values: int | None = None,
    num_tensors: int | None = None,
    alignment: int = 32,
    data: bytes = b"",
) -> bytes:
    """A GGUF file from its pieces; the counts may lie."""
    counts = (
        len(tensors) if num_tensors is None else num_tensors,
        len(values) if num_values is None else num_values,
    )
    head = b"GGUF" + struct.pack("<IQQ", version, *counts) + b"".join(values + tensors)
    return head + b"\0" * (-len(head) % alignment) + data

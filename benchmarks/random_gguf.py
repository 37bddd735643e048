"""A GGUF of a Llama's shapes with random blocks: what speed depends on, without a download."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
from gguf.constants import GGMLQuantizationType

from benchmarks.sparse_models import CONFIG, add_metadata, gguf_name, iter_tensors

# TinyLlama-1.1B's shapes.
ONE_B_CONFIG: dict[str, Any] = CONFIG | {
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "vocab_size": 32000,
    "max_position_embeddings": 8192,
}
# Of a block's float16 scales: byte offset and size beside each other, chosen so that numbers have
# mean 0; and the numbers' standard deviation while all other bits are random (both measured with
# gguf's own decoder).
_SCALES: dict[GGMLQuantizationType, tuple[dict[int, float], float]] = {
    GGMLQuantizationType.Q4_0: ({0: 1.0}, 4.61),
    GGMLQuantizationType.Q4_K: ({0: 1.0, 2: 7.5}, 258.2),
    GGMLQuantizationType.Q6_K: ({208: 1.0}, 1366.0),
}


def write_random_gguf(path: Path, kind: GGMLQuantizationType, **changes: Any) -> Path:
    """Linears and embedding of one type, lm_head in Q6_K as llama.cpp's own quantizer leaves it.

    `changes` are to `ONE_B_CONFIG`. The same arguments give the same file.
    """
    config = ONE_B_CONFIG | changes
    writer = gguf.GGUFWriter(path, "llama")
    add_metadata(writer, config, config["vocab_size"])
    rng = np.random.default_rng(0)
    tensors = list(iter_tensors(config))
    for name, shape in tensors:
        _add_info(writer, name, shape, _type_of(name, shape, kind))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for name, shape in tensors:
        writer.write_tensor_data(_random_tensor(rng, shape, _type_of(name, shape, kind)))
    writer.close()
    return path


def _type_of(name: str, shape: tuple[int, ...], kind: GGMLQuantizationType) -> GGMLQuantizationType:
    if len(shape) == 1:
        return GGMLQuantizationType.F32
    return GGMLQuantizationType.Q6_K if name == "lm_head" else kind


def _add_info(
    writer: gguf.GGUFWriter, name: str, shape: tuple[int, ...], kind: GGMLQuantizationType
) -> None:
    block_size, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    num_bytes = int(np.prod(shape)) // block_size * block_bytes
    writer.add_tensor_info(gguf_name(name), shape, np.dtype(np.float32), num_bytes, raw_dtype=kind)


def _random_tensor(
    rng: np.random.Generator, shape: tuple[int, ...], kind: GGMLQuantizationType
) -> npt.NDArray[Any]:
    """Numbers of a deviation that keeps a token's length; norms are ones."""
    if kind is GGMLQuantizationType.F32:
        return np.ones(shape, np.float32)
    block_size, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    rows = rng.integers(0, 256, (int(np.prod(shape)) // block_size, block_bytes), np.uint8)
    scales, deviation = _SCALES[kind]
    for offset, size in scales.items():
        scale = np.float16(size / deviation / np.sqrt(shape[1]))
        rows[:, offset : offset + 2] = np.frombuffer(scale.tobytes(), np.uint8)
    return rows.reshape(shape[0], -1)

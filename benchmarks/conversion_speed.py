"""MB of source converted exactly a second on one core, beside those who do half the work.

In one process and run, on the same bytes, the best of several rounds of processor time: our exact
conversion (read, take apart, verify a sample), `gguf.quants.dequantize` alone, and, where
llama-cpp-python is at hand, llama.cpp's requantization of the starter model from Q4_K_M to Q4_0.
Formats that no native scheme holds exactly (FP8, nf4) are requantized to int8 by error search, and
a dense matrix to the grid w4.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import gguf
import ml_dtypes
import numpy as np
import numpy.typing as npt
from gguf.constants import GGMLQuantizationType
from safetensors.numpy import save_file

from app.checkpoint.tensor_file import TensorFile
from app.converter.grids import Grid, convert_linear, plan_linear
from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.dense import DenseFormat
from app.converter.sources.detect import open_source
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Folder, LinearPlace
from app.converter.sources.linear_formats import create_format
from app.converter.sources.quantization_config import read_declaration
from app.converter.verify import verify_exact
from app.spec.registry import create_spec
from benchmarks.folder_encoders import ENCODERS, FolderEncoder
from benchmarks.measure import Figures, command_line, named, print_json
from benchmarks.sparse_models import write_sparse_gguf
from benchmarks.starter_sources import llama_cpp_python, quantize_with_llama_cpp, write_gguf
from kernels.cpu.loader import load

_KINDS = (
    *("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0"),
    *("IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4"),
)
_NAME = "layers.0.mlp.up_proj"  # 11,008 x 4,096 in GGUF
_SHAPE = (4096, 4096)
_CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": _SHAPE[1],
    "intermediate_size": _SHAPE[0],
    "num_hidden_layers": 1,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "vocab_size": 256,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
}
_NUM_ROUNDS = 5
_DENSE = "dense bf16 to w4"
_SOURCES = (*_KINDS, *ENCODERS, _DENSE)


def measure(names: list[str]) -> dict[str, Figures]:
    """Of each source: `exact_mb_s`, of GGUF's `gguf_dequantize_mb_s`; llama.cpp's own figure."""
    load()  # is built before anything is timed
    figures = {}
    with tempfile.TemporaryDirectory(prefix="deepinfer-bench-") as folder:
        for kind in _chosen(_KINDS, names):
            figures[kind] = _measure_kind(kind, Path(folder) / f"{kind}.gguf")
        for name in _chosen(tuple(ENCODERS), names):
            figures[name] = _measure_folder(ENCODERS[name], Path(folder))
        for name in _chosen((_DENSE,), names):
            figures[name] = _measure_dense(Path(folder) / "dense.safetensors")
        if llama_cpp_python() and not names:
            figures["llama.cpp"] = {"requantize_mb_s": _measure_llama_cpp(Path(folder))}
    return figures


def _chosen(known: tuple[str, ...], names: list[str]) -> list[str]:
    return [name for name in known if not names or name in names]


def _measure_kind(kind: str, path: Path) -> Figures:
    write_sparse_gguf(path, GGMLQuantizationType[kind], num_hidden_layers=1, vocab_size=256)
    stored = next(t for t in gguf.GGUFReader(path).tensors if t.name == "blk.0.ffn_up.weight")
    with closing(open_source(path)) as source:
        linears = [linear for part in source.parts() for linear in part.linears]
        figures = _measure_linear(next(linear for linear in linears if linear.name == _NAME))
    decode_s = _best_s(lambda: gguf.quants.dequantize(stored.data, stored.tensor_type))
    return figures | {"gguf_dequantize_mb_s": stored.data.nbytes / decode_s / 1e6}


def _measure_folder(encoder: FolderEncoder, folder: Path) -> Figures:
    weight = _random_weights()
    path, stem = folder / "model.safetensors", f"model.{_NAME}"
    arrays = {f"{stem}.{name}": array for name, array in encoder.encode(weight).items()}
    save_file(arrays, path)
    return _measure_linear(_open_linear(encoder, path, stem))


def _measure_dense(path: Path) -> Figures:
    name = f"model.{_NAME}"
    save_file({f"{name}.weight": _random_weights().astype(ml_dtypes.bfloat16)}, path)
    claims = TensorClaims(_stored_arrays(path))
    linear = DenseFormat().open_linear(LinearPlace(_NAME, name, _SHAPE), claims)
    assert linear is not None
    plan = plan_linear(linear, Grid.W4)
    return {"exact_mb_s": linear.source_bytes / _best_s(lambda: convert_linear(linear, plan)) / 1e6}


def _random_weights() -> npt.NDArray[np.float32]:
    return np.random.default_rng(0).standard_normal(_SHAPE, np.float32) * np.float32(0.02)


def _stored_arrays(path: Path) -> dict[str, StoredArray]:
    with closing(TensorFile(path)) as file:
        entries = file.entries.items()
        return {n: StoredArray(n, path, e.dtype, e.shape, e.offset) for n, e in entries}


def _open_linear(encoder: FolderEncoder, path: Path, stem: str) -> SourceLinear:
    """The one linear that the file holds, as its format opens it."""
    stored = _stored_arrays(path)
    config = {**_CONFIG, **encoder.config}
    places = {_NAME: stem}
    folder = Folder("model", config, create_spec(_CONFIG), stored, places, {_NAME: _SHAPE})
    quantized = create_format(read_declaration(config, path.parent), folder)
    assert quantized is not None
    linear = quantized.open_linear(LinearPlace(_NAME, stem, _SHAPE), TensorClaims(stored))
    assert linear is not None
    return linear


def _measure_linear(linear: SourceLinear) -> Figures:
    return {"exact_mb_s": linear.source_bytes / _best_s(lambda: _convert(linear)) / 1e6}


def _convert(linear: SourceLinear) -> None:
    converted = verify_exact(linear, convert_linear(linear, plan_linear(linear, Grid.EXACT)))
    assert converted.rel_err == 0 or linear.native is None


def _best_s(work: Callable[[], object]) -> float:
    """Processor time, because other work on the machine is not this one's."""
    times = []
    for _ in range(_NUM_ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def _measure_llama_cpp(folder: Path) -> float:
    dense = write_gguf(folder / "dense.gguf", GGMLQuantizationType.F32)
    mixed, target = folder / "mixed.gguf", folder / "target.gguf"
    quantize_with_llama_cpp(dense, mixed, "Q4_K_M")
    before = _children_s()
    quantize_with_llama_cpp(mixed, target, "Q4_0")
    return mixed.stat().st_size / (_children_s() - before) / 1e6


def _children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    parser = command_line(__doc__)
    known = {name: name for name in _SOURCES}
    parser.add_argument("sources", nargs="*", type=named(known), help="only these; all if none")
    print_json(measure(parser.parse_args().sources))

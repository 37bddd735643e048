"""The starter model in other formats: sources for the conversion benchmarks.

All are made from the starter's weights decoded to float32. GGUF types come from llama.cpp's own
quantizer (`llama-cpp-python`, in this interpreter or in the one that DEEPINFER_LLAMA_CPP_PYTHON
names); without it from the `gguf` package, which writes fewer types. Folders of GPTQ and
compressed-tensors integers come from our own export, those of the other formats from
`folder_encoders`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import gguf
import ml_dtypes
import numpy as np
from gguf.constants import GGMLQuantizationType, GGUFValueType
from safetensors.numpy import load_file, save_file

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.hub.starter import require_starter
from benchmarks.folder_encoders import ENCODERS, FolderEncoder
from benchmarks.measure import run_json

# llama.cpp's names of whole-file mixes and their numbers (include/llama.h: enum llama_ftype).
LLAMA_MIXES = {
    "Q4_0": 2, "Q4_1": 3, "Q5_0": 8, "Q5_1": 9, "Q8_0": 7, "Q2_K": 10, "Q3_K_M": 12, "Q4_K_M": 15,
    "Q5_K_M": 17, "Q6_K": 18, "IQ4_NL": 25, "IQ4_XS": 30, "TQ1_0": 36, "TQ2_0": 37,
}  # fmt: skip
_QUANTIZE = """
import sys, llama_cpp
params = llama_cpp.llama_model_quantize_default_params()
params.ftype, params.nthread, params.allow_requantize = int(sys.argv[3]), 1, True
sys.exit(llama_cpp.llama_model_quantize(sys.argv[1].encode(), sys.argv[2].encode(), params))
"""

Maker = Callable[[Path], Path | None]


def makers() -> dict[str, Maker]:
    """Each writes one source into an empty folder; None where no tool here can make it."""
    ggufs: dict[str, Maker] = {f"GGUF {mix}": partial(_make_gguf, mix) for mix in LLAMA_MIXES}
    return {
        "dense bf16 folder": _make_dense_folder,
        **ggufs,
        "GPTQ 4-bit": partial(_make_export, "gptq"),
        "compressed-tensors 4-bit": partial(_make_export, "compressed-tensors"),
        **{name: partial(_make_encoded, encoder) for name, encoder in ENCODERS.items()},
    }


def llama_cpp_python() -> str | None:
    """An interpreter that has llama-cpp-python."""
    named = os.environ.get("DEEPINFER_LLAMA_CPP_PYTHON")
    if named:
        return named
    return sys.executable if importlib.util.find_spec("llama_cpp") else None


def quantize_with_llama_cpp(source: Path, target: Path, mix: str) -> None:
    """llama.cpp's quantizer on one thread; raises CalledProcessError when it refuses."""
    python = llama_cpp_python()
    assert python, "ask llama_cpp_python() first"
    command = [python, "-c", _QUANTIZE, str(source), str(target), str(LLAMA_MIXES[mix])]
    subprocess.run(command, check=True, capture_output=True)


def write_gguf(target: Path, kind: GGMLQuantizationType) -> Path:
    """The starter with every matrix of one type, by the `gguf` package."""
    reader = gguf.GGUFReader(require_starter())
    writer = gguf.GGUFWriter(target, "llama")
    _copy_metadata(reader, writer)
    for tensor in reader.tensors:
        weight = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        of_tensor = kind if weight.ndim == 2 else GGMLQuantizationType.F32
        data = gguf.quants.quantize(weight, of_tensor)
        writer.add_tensor(tensor.name, data, raw_dtype=of_tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def _copy_metadata(reader: gguf.GGUFReader, writer: gguf.GGUFWriter) -> None:
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        sub_type = field.types[-1] if field.types[0] is GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], sub_type)


def _make_gguf(mix: str, folder: Path) -> Path | None:
    target = folder / f"starter.{mix}.gguf"
    if llama_cpp_python():
        dense = write_gguf(folder / "dense.gguf", GGMLQuantizationType.F32)
        quantize_with_llama_cpp(dense, target, mix)
        dense.unlink()
        return target
    try:
        return write_gguf(target, GGMLQuantizationType[mix])
    except (KeyError, NotImplementedError):  # a mix of types, or a type that gguf only reads
        return None


def _make_dense_folder(folder: Path) -> Path:
    """bfloat16, as most repositories are."""
    native = _convert_starter(folder / "native", "exact")
    target = folder / "starter-bf16"
    target.mkdir()
    with Checkpoint.open(native) as checkpoint:
        config = dict(checkpoint.config)
        weights = {n: dequantize(checkpoint.linear(n)) for n in checkpoint.manifest.linears}
        for name in _vector_names(config["num_hidden_layers"]):
            weights[name] = np.array(checkpoint.vector(name), np.float32)
    tensors = {f"model.{n}.weight": w.astype(ml_dtypes.bfloat16) for n, w in weights.items()}
    save_file(tensors, target / "model.safetensors")
    (target / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        (target / name).write_bytes((native / name).read_bytes())
    return target


def _vector_names(num_layers: int) -> list[str]:
    norms = ("input_layernorm", "post_attention_layernorm")
    return ["norm", *(f"layers.{index}.{norm}" for index in range(num_layers) for norm in norms)]


def _make_encoded(encoder: FolderEncoder, folder: Path) -> Path:
    """The dense folder with its linears, perhaps also its embedding, encoded."""
    target = _make_dense_folder(folder)
    tensors = load_file(target / "model.safetensors")
    for name in [name for name in tensors if _is_encoded(name, encoder)]:
        stem, weight = name.removesuffix(".weight"), tensors.pop(name).astype(np.float32)
        tensors |= {f"{stem}.{suffix}": a for suffix, a in encoder.encode(weight).items()}
    save_file(tensors, target / "model.safetensors")
    config = json.loads((target / "config.json").read_text(encoding="utf-8"))
    (target / "config.json").write_text(json.dumps(config | encoder.config), encoding="utf-8")
    return target


def _is_encoded(name: str, encoder: FolderEncoder) -> bool:
    return "_proj" in name or (encoder.with_vocabulary and "embed_tokens" in name)


def _make_export(format_name: str, folder: Path) -> Path:
    native = _convert_starter(folder / "native", "w4")
    target = folder / f"starter-{format_name}"
    run_json(
        "-m", "app", "export", str(native), "-o", str(target), "--format", format_name, "--json"
    )
    return target


def _convert_starter(target: Path, grid: str) -> Path:
    run_json("-m", "app", "convert", "starter", "-o", str(target), "--grid", grid, "--json")
    return target

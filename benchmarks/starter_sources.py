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
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import gguf
import ml_dtypes
import numpy as np
from gguf.constants import GGMLQuantizationType, GGUFValueType
from safetensors.numpy import load_file, save_file

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.converter.export import export
from app.converter.export_plan import ExportFormat
from app.converter.pipeline import convert, num_usable_cores
from app.hub.starter import require_starter
from benchmarks.folder_encoders import ENCODERS, FolderEncoder

# llama.cpp's names of whole-file mixes and their numbers (include/llama.h: enum llama_ftype).
LLAMA_MIXES = {
    "Q4_0": 2, "Q4_1": 3, "Q5_0": 8, "Q5_1": 9, "Q8_0": 7, "Q2_K": 10, "Q3_K_M": 12, "Q4_K_M": 15,
    "Q5_K_M": 17, "Q6_K": 18, "IQ4_NL": 25, "IQ4_XS": 30, "TQ1_0": 36, "TQ2_0": 37,
}  # fmt: skip
_QUANTIZE = """
import sys, llama_cpp
params = llama_cpp.llama_model_quantize_default_params()
params.ftype, params.nthread, params.allow_requantize = int(sys.argv[3]), int(sys.argv[4]), True
sys.exit(llama_cpp.llama_model_quantize(sys.argv[1].encode(), sys.argv[2].encode(), params))
"""


class Workshop:
    """A folder in which sources are made; what several are made of is made once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def dense_folder(self) -> Path:
        """bfloat16, as most repositories are."""
        return _make_dense_folder(self._convert("exact"), self._folder / "starter-bf16")

    @cached_property
    def dense_gguf(self) -> Path:
        """float32."""
        return write_gguf(self._folder / "dense.gguf", GGMLQuantizationType.F32)

    @cached_property
    def native_w4(self) -> Path:
        """A native checkpoint on the symmetric int4 grid."""
        return self._convert("w4")

    def _convert(self, grid: str) -> Path:
        target = self._folder / f"native-{grid}"
        convert(require_starter(), target, grid=grid)
        return target


Maker = Callable[[Workshop, Path], Path | None]


def makers() -> dict[str, Maker]:
    """Each writes one source into an empty folder; None where no tool here can make it."""
    ggufs: dict[str, Maker] = {f"GGUF {mix}": partial(_make_gguf, mix) for mix in LLAMA_MIXES}
    return {
        "dense bf16 folder": lambda shop, _: shop.dense_folder,
        **ggufs,
        "GGUF MXFP4": lambda _, folder: write_gguf(folder / "m.gguf", GGMLQuantizationType.MXFP4),
        "GPTQ 4-bit": partial(_make_export, ExportFormat.GPTQ),
        "compressed-tensors 4-bit": partial(_make_export, ExportFormat.COMPRESSED_TENSORS),
        **{name: partial(_make_encoded, encoder) for name, encoder in ENCODERS.items()},
    }


def llama_cpp_python() -> str | None:
    """An interpreter that has llama-cpp-python."""
    named = os.environ.get("DEEPINFER_LLAMA_CPP_PYTHON")
    if named:
        return named
    return sys.executable if importlib.util.find_spec("llama_cpp") else None


def quantize_with_llama_cpp(source: Path, target: Path, mix: str, num_threads: int = 1) -> None:
    """llama.cpp's quantizer; raises CalledProcessError when it refuses."""
    python = llama_cpp_python()
    assert python, "ask llama_cpp_python() first"
    numbers = (str(LLAMA_MIXES[mix]), str(num_threads))
    command = [python, "-c", _QUANTIZE, str(source), str(target), *numbers]
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


def _make_gguf(mix: str, shop: Workshop, folder: Path) -> Path | None:
    target = folder / f"starter.{mix}.gguf"
    if llama_cpp_python():
        quantize_with_llama_cpp(shop.dense_gguf, target, mix, num_usable_cores())
        return target
    try:
        return write_gguf(target, GGMLQuantizationType[mix])
    except (KeyError, NotImplementedError):  # a mix of types, or a type that gguf only reads
        return None


def _make_dense_folder(native: Path, target: Path) -> Path:
    target.mkdir()
    with Checkpoint.open(native) as checkpoint:
        config = dict(checkpoint.config)
        weights = {n: dequantize(checkpoint.linear(n)) for n in checkpoint.manifest.linears}
        for name in _vector_names(config["num_hidden_layers"]):
            weights[name] = np.array(checkpoint.vector(name), np.float32)
    tensors = {f"model.{n}.weight": w.astype(ml_dtypes.bfloat16) for n, w in weights.items()}
    save_file(tensors, target / "model.safetensors")
    _write_config(target, config)
    _copy_tokenizer(native, target)
    return target


def _vector_names(num_layers: int) -> list[str]:
    norms = ("input_layernorm", "post_attention_layernorm")
    return ["norm", *(f"layers.{index}.{norm}" for index in range(num_layers) for norm in norms)]


def _write_config(folder: Path, config: Mapping[str, Any]) -> None:
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def _copy_tokenizer(source: Path, target: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        (target / name).write_bytes((source / name).read_bytes())


def _make_encoded(encoder: FolderEncoder, shop: Workshop, folder: Path) -> Path:
    """The dense folder with its linears, perhaps also its embedding, encoded."""
    dense, target = shop.dense_folder, folder / "encoded"
    target.mkdir()
    tensors = load_file(dense / "model.safetensors")
    for name in [name for name in tensors if _is_encoded(name, encoder)]:
        stem, weight = name.removesuffix(".weight"), tensors.pop(name).astype(np.float32)
        tensors |= {f"{stem}.{suffix}": a for suffix, a in encoder.encode(weight).items()}
    save_file(tensors, target / "model.safetensors")
    config = json.loads((dense / "config.json").read_text(encoding="utf-8"))
    _write_config(target, config | encoder.config)
    _copy_tokenizer(dense, target)
    return target


def _is_encoded(name: str, encoder: FolderEncoder) -> bool:
    return "_proj" in name or (encoder.with_vocabulary and "embed_tokens" in name)


def _make_export(format_name: ExportFormat, shop: Workshop, folder: Path) -> Path:
    target = folder / f"starter-{format_name}"
    export(shop.native_w4, target, format_name)
    return target

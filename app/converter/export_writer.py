"""The files of an exported checkpoint: weights by part, their index, config.json, the tokenizer."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import file_stem
from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize, select_rows
from app.checkpoint.schemes import Linear
from app.checkpoint.tensor_file import Storable, StreamedArray, write_blocks, write_tensors
from app.converter.export_config import create_config
from app.converter.export_grid import ExportGrid, put_on_grid
from app.converter.export_layouts import compressed_tensors_arrays, gptq_arrays
from app.converter.export_plan import ExportFormat, ExportPlan
from app.converter.report import JSON_NAME, MARKDOWN_NAME
from app.converter.sources.file_rows import rows_per_block
from app.core.jobs import check_cancelled
from app.spec.registry import create_spec
from app.spec.weight_names import LLAMA_NAMES
from app.spec.weights import iter_linears, iter_vectors

Listener = Callable[[int, int, str], None]
_METADATA = {"format": "pt"}  # transformers refuses files that do not say so
_OURS = {"config.json", MARKDOWN_NAME, JSON_NAME}


class ExportWriter:
    """Writes everything into a folder that exists; one linear in memory at a time is repacked."""

    def __init__(self, checkpoint: Checkpoint, plan: ExportPlan, folder: Path) -> None:
        self._checkpoint, self._plan, self._folder = checkpoint, plan, folder
        self._parts = _group_names(checkpoint)
        self._files: dict[str, str] = {}
        self._num_bytes = 0

    def write(self, listener: Listener) -> None:
        """The listener hears (parts done, parts, the part under way)."""
        total = len(self._parts)
        for index, (stem, names) in enumerate(self._parts.items(), start=1):
            check_cancelled()
            listener(index - 1, total, stem)
            self._write_part(f"model-{index:05d}-of-{total:05d}.safetensors", names)
        self._write_json("model.safetensors.index.json", self._create_index())
        self._write_json("config.json", self._create_config())
        self._copy_texts()
        listener(total, total, "")

    def _write_part(self, file: str, names: list[str]) -> None:
        tensors = {key: array for name in names for key, array in self._iter_tensors(name)}
        write_tensors(self._folder / file, tensors, _METADATA)
        self._files |= dict.fromkeys(tensors, file)
        self._num_bytes += sum(array.nbytes for array in tensors.values())

    def _iter_tensors(self, name: str) -> Iterator[tuple[str, Storable]]:
        """(name in the file, array) of one linear or vector."""
        stem = LLAMA_NAMES.stem(name)
        if name not in self._checkpoint.manifest.linears:
            yield f"{stem}.weight", self._checkpoint.vector(name)
            return
        linear = self._checkpoint.linear(name)
        if linear.bias is not None:
            yield f"{stem}.bias", linear.bias
        grid = self._plan.grids.get(name)
        stored = self._dense(linear) if grid is None else self._quantized(linear, grid)
        for suffix, array in stored.items():
            yield f"{stem}.{suffix}", array

    def _dense(self, linear: Linear) -> dict[str, Storable]:
        if linear.weight is not None:
            return {"weight": linear.weight}
        dtype = self._plan.dtype
        blocks = partial(_iter_rows, linear, dtype)
        return {"weight": StreamedArray(dtype, linear.shape, blocks)}

    def _quantized(self, linear: Linear, grid: ExportGrid) -> dict[str, npt.NDArray[Any]]:
        arrays = put_on_grid(linear, grid)
        arrays = arrays._replace(scales=arrays.scales.astype(self._plan.dtype))
        if self._plan.format is ExportFormat.COMPRESSED_TENSORS:
            return compressed_tensors_arrays(arrays, grid)
        less_one = self._plan.stores_zero_less_one
        return gptq_arrays(arrays, grid, linear.perm, stores_zero_less_one=less_one)

    def _create_index(self) -> dict[str, Any]:
        return {"metadata": {"total_size": self._num_bytes}, "weight_map": self._files}

    def _create_config(self) -> dict[str, Any]:
        linears = self._checkpoint.manifest.linears
        dense = [
            name for name in linears if name not in self._plan.grids and name != "embed_tokens"
        ]
        return create_config(self._checkpoint.config, self._plan, dense)

    def _write_json(self, name: str, values: dict[str, Any]) -> None:
        text = json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        write_blocks(self._folder / name, [text.encode()])

    def _copy_texts(self) -> None:
        for name in self._checkpoint.manifest.files:
            if name not in _OURS and not name.endswith(".safetensors"):
                shutil.copyfile(self._checkpoint.dir / name, self._folder / name)


def _group_names(checkpoint: Checkpoint) -> dict[str, list[str]]:
    """The native files' stems with the names of their linears and vectors, in the model's order."""
    spec = create_spec(checkpoint.config)
    parts: dict[str, list[str]] = {}
    for name, _ in [*iter_linears(spec), *iter_vectors(spec)]:
        parts.setdefault(file_stem(name), []).append(name)
    return parts


def _iter_rows(linear: Linear, dtype: np.dtype[Any]) -> Iterator[npt.NDArray[Any]]:
    step = rows_per_block(linear.shape[1])
    for start in range(0, linear.shape[0], step):
        yield dequantize(select_rows(linear, slice(start, start + step))).astype(dtype)

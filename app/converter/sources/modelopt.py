"""NVIDIA Model Optimizer checkpoints: FP8 and NVFP4 linears.

TensorRT-Model-Optimizer:modelopt/torch/export/quant_utils.py. FP8: `.weight` e4m3 with a
`.weight_scale` for the tensor or per row. NVFP4: `.weight` uint8 [out, in / 2] with `.weight_scale`
e4m3 [out, in / 16], times `.weight_scale_2`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.fp4 import NVFP4_GROUP, Fp4Arrays, open_fp4
from app.converter.sources.fp8 import activation_notes, activation_scales, take_fp8
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.converter.sources.small_floats import E4M3
from app.core.errors import InvalidSourceError, UnsupportedError

_ALGORITHMS = ("FP8", "FP8_PER_CHANNEL_PER_TOKEN", "NVFP4", "NVFP4_AWQ")


class ModelOptFormat(LinearFormat):
    """FP8 or NVFP4, by `quant_algo`; each linear must be stored in that one."""

    name = "modelopt"

    def __init__(self, declaration: Declaration, folder: Folder) -> None:
        """UnsupportedError for another `quant_algo`."""
        nested = declaration.table.get("quantization")
        table = nested if isinstance(nested, Mapping) else declaration.table
        algorithm = table.get("quant_algo")
        if algorithm not in _ALGORITHMS:
            raise UnsupportedError(
                "{name}: the Model Optimizer algorithm {algorithm} ({where}) is not supported.",
                name=folder.name,
                algorithm=algorithm,
                where=declaration.where,
            )
        self._is_fp4, self._folder = str(algorithm).startswith("NVFP4"), folder
        self.notes = activation_notes(folder.tensors)

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        return f"{stem}.weight_scale" in tensors

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        if not self._is_fp4:
            return take_fp8(place, tensors, self._folder)
        return self._open_fp4(place, tensors)

    def ignored(self, tensors: Mapping[str, StoredArray]) -> Collection[str]:
        return activation_scales(tensors)

    def _open_fp4(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        rows, columns = place.shape
        weight = tensors.take(f"{place.stem}.weight", (rows, columns // 2))
        scales = tensors.take(f"{place.stem}.weight_scale", (rows, columns // NVFP4_GROUP))
        whole = self._take_single(f"{place.stem}.weight_scale_2", tensors)
        if weight is None or scales is None or whole is None:
            return None
        if weight.dtype != np.uint8 or scales.dtype != E4M3:
            raise InvalidSourceError(
                "{weight} is {dtype} with {scales_dtype} scales; NVFP4 has uint8 with "
                "float8_e4m3fn scales.",
                weight=weight.name,
                dtype=weight.dtype,
                scales_dtype=scales.dtype,
            )
        return open_fp4(place, "NVFP4", Fp4Arrays(weight, scales, NVFP4_GROUP, whole))

    def _take_single(self, name: str, tensors: TensorClaims[StoredArray]) -> StoredArray | None:
        """One number, whose shape some exporters write as [] and others as [1]."""
        found = self._folder.tensors.get(name)
        return tensors.take(name, (1,) if found is not None and found.shape == (1,) else ())

"""compressed-tensors: integers packed or one a byte, FP8, and the four-bit floats NVFP4 and MXFP4.

compressed-tensors:compressors/*/base.py, and config/base.py for the formats' names. How a linear is
stored is read off its tensors; the declaration gives bits, groups and symmetry, and must agree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from app.checkpoint.layout import I8, I32, U8
from app.checkpoint.schemes import Scheme
from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.compressed_tensors_claims import IntegerClaims
from app.converter.sources.compressed_tensors_config import CompressedTensorsConfig, WeightScheme
from app.converter.sources.compressed_tensors_dense import row_readers
from app.converter.sources.compressed_tensors_integer import IntegerArrays, Storage, load_native
from app.converter.sources.fp4 import MXFP4_GROUP, NVFP4_GROUP, Fp4Arrays, open_fp4
from app.converter.sources.fp8 import activation_scales, take_fp8
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.converter.sources.native_grid import native_scheme
from app.converter.sources.quantized_linear import create_quantized_linear
from app.converter.sources.small_floats import E4M3
from app.core.errors import InvalidSourceError

# What a weight is called and its dtype -> the formats that store such, whether codes are floats
_STORED_AS = {
    ("weight_packed", I32): (("pack-quantized",), False),
    ("weight", I8): (("int-quantized", "naive-quantized"), False),
    ("weight", E4M3): (("float-quantized", "naive-quantized", "mxfp8-quantized"), True),
    ("weight_packed", U8): (("nvfp4-pack-quantized", "mxfp4-pack-quantized"), True),
}
_ACTIVATION_ZEROS = (
    ".input_zero_point",
    ".output_zero_point",
    ".k_zero_point",
    ".v_zero_point",
    ".input_global_scale",
)


class CompressedTensorsFormat(LinearFormat):
    """Every linear with a `.weight_scale`, each in its own format."""

    name = "compressed-tensors"

    def __init__(self, declaration: Declaration, folder: Folder) -> None:
        """Raises UnsupportedError or InvalidSourceError for what the declaration asks."""
        self._config, self._folder = CompressedTensorsConfig(declaration, folder.name), folder
        self.notes = self._config.notes

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        return any(f"{stem}.{name}" in tensors for name in ("weight_packed", "weight_scale"))

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        scheme, weight = self._config.of_linear(place.stem), self._weight(place.stem)
        if weight is not None:
            self._check_agreement(weight, scheme)
        if not scheme.is_float:
            return self._open_integer(place, scheme, tensors)
        if weight is not None and weight.dtype == U8:
            return self._open_fp4(place, tensors)
        block = (1, scheme.group_size) if scheme.group_size else scheme.block
        return take_fp8(place, tensors, self._folder, block)

    def ignored(self, tensors: Mapping[str, StoredArray]) -> Collection[str]:
        zeros = [name for name in tensors if name.endswith(_ACTIVATION_ZEROS)]
        return {*activation_scales(tensors), *zeros}

    def _weight(self, stem: str) -> StoredArray | None:
        found = self._folder.tensors
        return found.get(f"{stem}.weight_packed") or found.get(f"{stem}.weight")

    def _check_agreement(self, weight: StoredArray, scheme: WeightScheme) -> None:
        stored_as = (weight.name.rpartition(".")[2], weight.dtype)
        formats, is_float = _STORED_AS.get(stored_as, ((), False))
        if scheme.is_float is not is_float or scheme.format not in (None, *formats):
            kind = "float" if scheme.is_float else "int"
            raise InvalidSourceError(
                "{name}: the configuration says {format} {kind}{bits}, but {weight} is {dtype}.",
                name=self._folder.name,
                format=scheme.format,
                kind=kind,
                bits=scheme.bits,
                weight=weight.name,
                dtype=weight.dtype,
            )

    def _open_integer(
        self, place: LinearPlace, scheme: WeightScheme, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        version = self._config.version
        arrays = IntegerClaims(place, scheme, tensors, self._folder.tensors, version).take()
        if arrays is None:
            return None
        meaning = Scheme.SYM if arrays.zeros is None else Scheme.ZERO
        group_size, dtype = arrays.group_size, arrays.scales.dtype
        quant = native_scheme(scheme.bits, group_size, place.shape[1], meaning, dtype)
        stored = (arrays.weight, arrays.scales, *((arrays.zeros,) if arrays.zeros else ()))
        native = None if quant is None else (quant, partial(load_native, arrays, quant))
        rows, blocks = row_readers(arrays)
        source_type = _describe(arrays, scheme)
        return create_quantized_linear(place, source_type, stored, rows, native, blocks)

    def _open_fp4(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        """NVFP4 has one more scale for the whole tensor; MXFP4 has not."""
        (rows, columns), name = place.shape, f"{place.stem}.weight_global_scale"
        whole = self._folder.tensors.get(name)
        group = MXFP4_GROUP if whole is None else NVFP4_GROUP
        packed = tensors.take(f"{place.stem}.weight_packed", (rows, columns // 2))
        scales = tensors.take(f"{place.stem}.weight_scale", (rows, columns // group))
        if whole is not None:
            whole = tensors.take(name, whole.shape if whole.shape in ((), (1,)) else (1,))
        if packed is None or scales is None:
            return None
        arrays = Fp4Arrays(packed, scales, group, whole, divides=True)
        return open_fp4(place, "MXFP4" if whole is None else "NVFP4", arrays)


def _describe(arrays: IntegerArrays, scheme: WeightScheme) -> str:
    form = "int" if arrays.storage is Storage.BYTES else "packed int"
    group = f"g{scheme.group_size}" if scheme.strategy == "group" else scheme.strategy
    order = "" if arrays.order is None else " act-order"
    return f"{form}{scheme.bits} {group}{order}"

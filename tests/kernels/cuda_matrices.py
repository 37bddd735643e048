"""Random matrices in every form that gemv.cu and gemm.cu read, and what they mean in float64."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kernels.cuda.build import SOURCE_DIR
from kernels.cuda.gemv import GEMV_ARGS, GemvVariant, Scheme, ValueType, group_shift
from kernels.cuda.pack import (
    STEP_COLUMNS,
    groups_together,
    pack_codes,
    pack_dense,
    pack_groups,
    padded_columns,
)
from tests.kernels.cuda_host import HostModule, build_host_module

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Matrix:
    """A random quantized matrix: what a variant reads, and what it means in float64."""

    variant: GemvVariant
    shape: tuple[int, int]
    group: int
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    weight: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def num_groups(self) -> int:
        return 1 if self.group < 0 else -(-self.shape[1] // self.group)

    @property
    def sizes(self) -> dict[str, int]:
        """Fields of GemvArgs."""
        rows, columns = self.shape
        steps = padded_columns(columns, self.variant.bits) // STEP_COLUMNS
        return {
            "out_features": rows,
            "in_features": columns,
            "x_stride": columns,
            "out_stride": rows,
            "num_steps": steps,
            "num_groups": self.arrays["scales"].shape[1] if "scales" in self.arrays else 1,
            "num_supers": -(-steps * STEP_COLUMNS // 256),
            "group_shift": group_shift(self.group),
        }

    def expand(self, per_group: npt.NDArray[Any]) -> Floats:
        """[out, groups] -> float64 [out, in]."""
        width = self.shape[1] if self.group < 0 else self.group
        return np.repeat(per_group.astype(np.float64), width, axis=1)[:, : self.shape[1]]


def create_matrix(
    variant: GemvVariant,
    shape: tuple[int, int],
    group: int,
    seed: int = 0,
    greatest_unsigned: int = 255,
) -> Matrix:
    """Codes over their whole range, scales of ordinary size; those of two levels in 8 bits, or
    unsigned ones up to `greatest_unsigned`."""
    rng = np.random.default_rng(seed)
    matrix = Matrix(variant, shape, group)
    if variant.bits == 16:
        dense = rng.standard_normal(shape).astype(np.float16)
        return replace(matrix, arrays={"codes": pack_dense(dense)}, weight=dense.astype(np.float64))
    codes = rng.integers(0, 1 << variant.bits, shape, dtype=np.uint8)
    arrays: dict[str, npt.NDArray[Any]] = {"codes": pack_codes(codes, variant.bits)}
    scales = _create_values(rng, matrix, variant.scale_type, "scales", arrays, greatest_unsigned)
    weight = codes.astype(np.float64)
    if variant.scheme is Scheme.SYM:
        weight = (weight - (1 << (variant.bits - 1))) * matrix.expand(scales)
    elif variant.scheme is Scheme.ZERO:
        zeros = rng.integers(0, 1 << variant.bits, (shape[0], matrix.num_groups), dtype=np.uint8)
        arrays["zeros"] = _pad_groups(matrix, zeros)
        weight = (weight - matrix.expand(zeros)) * matrix.expand(scales)
    else:
        biases = _create_values(rng, matrix, variant.bias_type, "biases", arrays, greatest_unsigned)
        weight = weight * matrix.expand(scales) + matrix.expand(biases)
    return replace(matrix, arrays=arrays, weight=weight)


def _create_values(
    rng: np.random.Generator,
    matrix: Matrix,
    kind: ValueType,
    name: str,
    arrays: dict[str, npt.NDArray[Any]],
    greatest_unsigned: int,
) -> npt.NDArray[Any]:
    """Puts scales or biases of a kind into `arrays`; returns them as float64 [out, groups]."""
    rows, columns = matrix.shape
    size = (rows, matrix.num_groups)
    if kind in (ValueType.FP16, ValueType.FP32):
        dtype = np.float16 if kind is ValueType.FP16 else np.float32
        values = (0.01 + 0.02 * rng.random(size)).astype(dtype)
        arrays[name] = _pad_groups(matrix, values)
        return values.astype(np.float64)
    is_signed = kind is ValueType.TWO_LEVEL_I8
    low, high, dtype8 = (-128, 128, np.int8) if is_signed else (0, greatest_unsigned + 1, np.uint8)
    codes = rng.integers(low, high, size).astype(dtype8)
    supers = (1e-4 * rng.random((rows, -(-columns // 256)))).astype(np.float16)
    missing = -(-padded_columns(columns, matrix.variant.bits) // 256) - supers.shape[1]
    arrays[name] = _pad_groups(matrix, codes)
    arrays[f"super_{name}"] = pack_groups(np.pad(supers, ((0, 0), (0, missing))))
    per_super = 256 // matrix.group
    return codes * np.repeat(supers.astype(np.float64), per_super, axis=1)[:, : size[1]]


def _pad_groups(matrix: Matrix, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Groups over the padded columns too, as the kernel indexes them."""
    bits = matrix.variant.bits
    if matrix.group < 0:
        return pack_groups(values)
    missing = -(-padded_columns(matrix.shape[1], bits) // matrix.group) - values.shape[1]
    padded = np.pad(values, ((0, 0), (0, missing)))
    return pack_groups(padded, groups_together(matrix.group, bits))


class Launcher:
    """Collects the arrays of one launch under the fields of GemvArgs."""

    def __init__(self, matrix: Matrix, num_tokens: int, **fields: Any) -> None:
        self.variant, self.matrix = matrix.variant, matrix
        self.arrays = {name: np.ascontiguousarray(a) for name, a in matrix.arrays.items()}
        self.fields = {
            **matrix.sizes,
            "num_tokens": num_tokens,
            "chunk_steps": self.variant.chunk_steps(matrix.sizes["num_steps"]),
            "multiplier": 1.0,
            **fields,
        }

    def run(
        self,
        module: HostModule,
        grid_rows: int = 1,
        most_blocks: int | None = None,
        **options: Any,
    ) -> None:
        """Launches; arrays of `self.arrays` are changed in place."""
        steps, num_blocks = (
            self.fields["chunk_steps"],
            self.variant.num_blocks(self.matrix.shape[0]),
        )
        module.launch_struct(
            "gemv",
            (min(num_blocks, most_blocks or num_blocks), grid_rows),
            (self.variant.num_threads,),
            GEMV_ARGS,
            {**self.fields, **self.arrays},
            shared_bytes=self.variant.shared_bytes(steps),
            **options,
        )


def multiply(matrix: Matrix, x: npt.NDArray[np.float16], **options: Any) -> npt.NDArray[np.float16]:
    launcher = Launcher(matrix, len(x))
    launcher.arrays |= {"x": x, "out": np.zeros((len(x), matrix.shape[0]), np.float16)}
    launcher.run(module_of(matrix.variant), **options)
    return launcher.arrays["out"]


def module_of(variant: GemvVariant) -> HostModule:
    return build_host_module(SOURCE_DIR / "gemv.cu", variant.source.macros)


def relative_error(found: npt.NDArray[Any], wanted: Floats) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def activations(num_tokens: int, columns: int, seed: int = 1) -> npt.NDArray[np.float16]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((num_tokens, columns)).astype(np.float16)


U8, I8 = ValueType.TWO_LEVEL_U8, ValueType.TWO_LEVEL_I8
VARIANTS = {
    "w4-sym": (GemvVariant(4), 128),
    "w4-sym-g256": (GemvVariant(4), 256),
    "w4-sym-row-fp32": (GemvVariant(4, scale_type=ValueType.FP32), -1),
    "w4-zero-g64": (GemvVariant(4, Scheme.ZERO, 64), 64),
    "w4-affine-g32-two-level": (GemvVariant(4, Scheme.AFFINE, 32, U8, U8), 32),
    "w4-affine-g16-two-level": (GemvVariant(4, Scheme.AFFINE, 16, U8, U8), 16),
    "w4-affine-g32-fp16": (GemvVariant(4, Scheme.AFFINE, 32), 32),
    "w3-sym": (GemvVariant(3), 128),
    "w3-zero-g32": (GemvVariant(3, Scheme.ZERO, 32), 32),
    "w3-sym-g16-two-level": (GemvVariant(3, group=16, scale_type=I8), 16),
    "w8-sym-g32": (GemvVariant(8, group=32), 32),
    "w8-sym-g16-two-level": (GemvVariant(8, group=16, scale_type=I8), 16),
    "w8-zero-row": (GemvVariant(8, Scheme.ZERO), -1),
    "w8-affine-g32-two-level": (GemvVariant(8, Scheme.AFFINE, 32, U8, U8), 32),
    "dense": (GemvVariant(16), -1),
}

"""gemv.cu against float64: every scheme, group and width, odd shapes, all orders of threads."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kernels.cuda.build import SOURCE_DIR
from kernels.cuda.gemv import (
    GEMV_ARGS,
    Epilogue,
    GemvVariant,
    Input,
    Scheme,
    ValueType,
    group_shift,
)
from kernels.cuda.pack import (
    STEP_COLUMNS,
    groups_together,
    pack_codes,
    pack_dense,
    pack_groups,
    padded_columns,
    unpack_codes,
    unpack_dense,
    unpack_groups,
)
from tests.kernels.cuda_host import HostModule, Schedule, build_host_module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

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

    def expand(self, per_group: npt.NDArray[Any]) -> Floats:
        """[out, groups] -> float64 [out, in]."""
        width = self.shape[1] if self.group < 0 else self.group
        return np.repeat(per_group.astype(np.float64), width, axis=1)[:, : self.shape[1]]


def create_matrix(
    variant: GemvVariant, shape: tuple[int, int], group: int, seed: int = 0
) -> Matrix:
    """Codes over their whole range, scales of ordinary size."""
    rng = np.random.default_rng(seed)
    matrix = Matrix(variant, shape, group)
    if variant.bits == 16:
        dense = rng.standard_normal(shape).astype(np.float16)
        return replace(matrix, arrays={"codes": pack_dense(dense)}, weight=dense.astype(np.float64))
    codes = rng.integers(0, 1 << variant.bits, shape, dtype=np.uint8)
    arrays: dict[str, npt.NDArray[Any]] = {"codes": pack_codes(codes, variant.bits)}
    scales = _create_values(rng, matrix, variant.scale_type, "scales", arrays)
    weight = codes.astype(np.float64)
    if variant.scheme is Scheme.SYM:
        weight = (weight - (1 << (variant.bits - 1))) * matrix.expand(scales)
    elif variant.scheme is Scheme.ZERO:
        zeros = rng.integers(0, 1 << variant.bits, (shape[0], matrix.num_groups), dtype=np.uint8)
        arrays["zeros"] = _pad_groups(matrix, zeros)
        weight = (weight - matrix.expand(zeros)) * matrix.expand(scales)
    else:
        biases = _create_values(rng, matrix, variant.bias_type, "biases", arrays)
        weight = weight * matrix.expand(scales) + matrix.expand(biases)
    return replace(matrix, arrays=arrays, weight=weight)


def _create_values(
    rng: np.random.Generator,
    matrix: Matrix,
    kind: ValueType,
    name: str,
    arrays: dict[str, npt.NDArray[Any]],
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
    low, high, dtype8 = (-128, 128, np.int8) if is_signed else (0, 256, np.uint8)
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
        rows, columns = matrix.shape
        steps = padded_columns(columns, self.variant.bits) // STEP_COLUMNS
        groups = matrix.arrays["scales"].shape[1] if "scales" in matrix.arrays else 1
        self.fields = {
            "out_features": rows,
            "in_features": columns,
            "x_stride": columns,
            "out_stride": rows,
            "num_steps": steps,
            "num_groups": groups,
            "num_supers": -(-steps * STEP_COLUMNS // 256),
            "group_shift": group_shift(matrix.group),
            "num_tokens": num_tokens,
            "chunk_steps": self.variant.chunk_steps(steps),
            "multiplier": 1.0,
            **fields,
        }

    def run(self, module: HostModule, grid_rows: int = 1, **options: Any) -> None:
        """Launches; arrays of `self.arrays` are changed in place."""
        steps = self.fields["chunk_steps"]
        module.launch_struct(
            "gemv",
            (self.variant.num_blocks(self.matrix.shape[0]), grid_rows),
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


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("num_tokens", [1, 8])
def test_every_variant_equals_float64(name: str, num_tokens: int) -> None:
    variant, group = VARIANTS[name]
    variant = replace(variant, tokens=num_tokens)
    for rows, columns in ((40, 576), (33, 200), (64, 1024)):
        matrix = create_matrix(variant, (rows, columns), group)
        x = activations(num_tokens, columns)
        wanted = x.astype(np.float64) @ matrix.weight.T
        assert relative_error(multiply(matrix, x), wanted) <= 1e-3


@pytest.mark.parametrize("schedule", list(Schedule))
@pytest.mark.parametrize("name", ["w4-affine-g32-two-level", "w3-sym"])
def test_the_order_of_threads_changes_nothing(name: str, schedule: Schedule) -> None:
    variant, group = VARIANTS[name]
    matrix = create_matrix(replace(variant, tokens=8), (48, 512), group)
    x = activations(5, 512)
    found = multiply(matrix, x, schedule=schedule, reverse_blocks=schedule is Schedule.REVERSE)
    assert np.array_equal(found, multiply(matrix, x))


def test_more_columns_than_shared_memory_holds() -> None:
    variant = GemvVariant(4, tokens=8)
    matrix = create_matrix(variant, (32, 18944), 128)
    assert variant.chunk_steps(18944 // 64) < 18944 // 64
    x = activations(8, 18944)
    wanted = x.astype(np.float64) @ matrix.weight.T
    assert relative_error(multiply(matrix, x), wanted) <= 1e-3


@pytest.mark.parametrize("norm", [Input.RMS_NORM, Input.LAYER_NORM])
def test_the_norm_runs_in_the_prologue(norm: Input) -> None:
    rng = np.random.default_rng(3)
    matrix = create_matrix(GemvVariant(4, group=64, tokens=8), (32, 576), 64)
    x = (3 + 5 * rng.standard_normal((3, 576))).astype(np.float32)
    weight, bias = (rng.standard_normal(576).astype(np.float32) for _ in range(2))
    launcher = Launcher(matrix, 3, input=norm, eps=1e-5)
    launcher.arrays |= {"x": x, "norm_weight": weight, "out": np.zeros((3, 32), np.float16)}
    if norm is Input.LAYER_NORM:
        launcher.arrays["norm_bias"] = bias
    launcher.run(module_of(matrix.variant))
    centred = x - x.mean(1, keepdims=True, dtype=np.float64) if norm is Input.LAYER_NORM else x
    normed = centred / np.sqrt((centred.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-5)
    normed = normed * weight + (bias if norm is Input.LAYER_NORM else 0)
    assert relative_error(launcher.arrays["out"], normed @ matrix.weight.T) <= 1e-3


def test_columns_out_of_order_and_biases() -> None:
    rng = np.random.default_rng(4)
    matrix = create_matrix(GemvVariant(8, group=32), (40, 192), 32)
    x, perm = activations(1, 192), rng.permutation(192).astype(np.int32)
    bias = rng.standard_normal(40).astype(np.float32)
    launcher = Launcher(matrix, 1)
    out = np.zeros((1, 40), np.float16)
    launcher.arrays |= {"x": x, "perm": perm, "bias": bias, "out": out}
    launcher.run(module_of(matrix.variant))
    wanted = x.astype(np.float64)[:, perm] @ matrix.weight.T + bias
    assert relative_error(launcher.arrays["out"], wanted) <= 1e-3


def test_the_residual_is_added_to() -> None:
    matrix = create_matrix(GemvVariant(4, group=64, tokens=8), (40, 128), 64)
    x, residual = activations(2, 128), np.ones((2, 40), np.float32)
    launcher = Launcher(matrix, 2, epilogue=Epilogue.ADD_TO_RESIDUAL, multiplier=0.22)
    launcher.arrays |= {"x": x, "out": residual}
    launcher.run(module_of(matrix.variant))
    wanted = 1 + 0.22 * (x.astype(np.float64) @ matrix.weight.T)
    assert relative_error(launcher.arrays["out"], wanted) <= 1e-5


def test_gate_and_up_meet_in_the_epilogue() -> None:
    matrix = create_matrix(GemvVariant(4, group=64, tokens=8), (48, 128), 64)
    x = activations(3, 128)
    launcher = Launcher(matrix, 3, epilogue=Epilogue.GATE, out_stride=24)
    launcher.arrays |= {"x": x, "out": np.zeros((3, 24), np.float16)}
    launcher.run(module_of(matrix.variant))
    y = (x.astype(np.float64) @ matrix.weight.T).reshape(3, 3, 2, 8)
    gate, up = y[:, :, 0].reshape(3, 24), y[:, :, 1].reshape(3, 24)
    wanted = gate / (1 + np.exp(-gate)) * up
    assert relative_error(launcher.arrays["out"], wanted) <= 1e-3


def test_logits_come_with_the_greatest_of_each_block() -> None:
    matrix = create_matrix(GemvVariant(8, group=64, tokens=8), (70, 128), 64)
    x = activations(2, 128)
    blocks = matrix.variant.num_blocks(70)
    launcher = Launcher(matrix, 2, epilogue=Epilogue.LOGITS, multiplier=0.5, softcap=30.0)
    launcher.arrays |= {
        "x": x,
        "out": np.zeros((2, 70), np.float32),
        "block_max": np.zeros((blocks, 2), np.float32),
        "block_argmax": np.zeros((blocks, 2), np.int32),
    }
    launcher.run(module_of(matrix.variant))
    wanted = 30 * np.tanh(0.5 * (x.astype(np.float64) @ matrix.weight.T) / 30)
    logits = launcher.arrays["out"]
    assert relative_error(logits, wanted) <= 1e-3
    best = launcher.arrays["block_max"].argmax(axis=0)
    assert np.array_equal(launcher.arrays["block_max"].max(axis=0), logits.max(axis=1))
    found = [launcher.arrays["block_argmax"][best[token], token] for token in range(2)]
    assert np.array_equal(found, logits.argmax(axis=1))


@pytest.mark.parametrize("bits", [3, 4, 8])
@pytest.mark.parametrize("shape", [(16, 64), (33, 200), (5, 576), (100, 1000)])
def test_tiles_give_the_codes_back(bits: int, shape: tuple[int, int]) -> None:
    codes = np.random.default_rng(0).integers(0, 1 << bits, shape, dtype=np.uint8)
    assert np.array_equal(unpack_codes(pack_codes(codes, bits), bits, shape), codes)


def test_tiles_give_dense_weights_and_groups_back() -> None:
    weight = np.random.default_rng(0).standard_normal((33, 200)).astype(np.float16)
    assert np.array_equal(unpack_dense(pack_dense(weight), weight.shape), weight)
    for together in (1, 2, 4):
        assert np.array_equal(unpack_groups(pack_groups(weight, together), weight.shape), weight)

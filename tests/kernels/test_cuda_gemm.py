"""gemm.cu and arrange.cu against float64: all forms of matrices, odd shapes, orders of threads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kernels.cuda.build import SOURCE_DIR
from kernels.cuda.gemm import (
    ARRANGE_ARGS,
    ARRANGE_THREADS,
    GEMM_ARGS,
    GEMM_THREADS,
    GemmVariant,
    padded_stride,
    padded_tokens,
    token_block,
)
from kernels.cuda.gemv import Epilogue, GemvVariant, Input
from kernels.cuda.pack import STEP_COLUMNS
from tests.kernels.cuda_host import HostModule, Schedule, build_host_module
from tests.kernels.cuda_matrices import (
    VARIANTS,
    Matrix,
    activations,
    create_matrix,
    relative_error,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

Arrays = dict[str, npt.NDArray[Any]]
# Rows, columns, tokens: none fills its tiles, or all do.
SHAPES = [(72, 576, 9), (40, 896, 17), (64, 128, 64), (33, 200, 100), (16, 576, 128)]


def gemm_module(variant: GemmVariant, source: Path = SOURCE_DIR / "gemm.cu") -> HostModule:
    return build_host_module(source, variant.source.macros)


class Product:
    """One product of a chunk as the executor makes it: arranged where that is needed, then
    multiplied."""

    def __init__(self, matrix: Matrix, x: npt.NDArray[Any], **fields: Any) -> None:
        num_tokens = padded_tokens(len(x))
        self.variant = GemmVariant(matrix.variant, token_block(matrix.variant, num_tokens))
        self.matrix, self.x, self.sum_stride = matrix, x, num_tokens
        self.arrays: Arrays = {n: np.ascontiguousarray(a) for n, a in matrix.arrays.items()}
        self.fields = {**matrix.sizes, "num_tokens": len(x), "multiplier": 1.0, **fields}
        self.halfs: npt.NDArray[Any] = x
        self.sums = np.full((1, 1), np.nan, np.float32)

    def arrange(self, **arrays: Any) -> None:
        """Runs arrange.cu; what it does not write stays NaN."""
        columns = self.matrix.shape[1]
        sum_columns, stride = self.variant.sum_columns, padded_stride(columns)
        is_ready = self.x.dtype == np.float16 and columns == stride and "perm" not in arrays
        fields: dict[str, Any] = {"product.x": self.x, "stride": stride}
        for name, value in {**self.fields, **arrays}.items():
            fields[f"product.{name}"] = value
        if not is_ready:
            self.halfs = np.full((len(self.x), stride), np.nan, np.float16)
            fields["halfs"] = self.halfs
        if sum_columns:
            num_sums = self.fields["num_steps"] * STEP_COLUMNS // sum_columns
            self.sums = np.full((num_sums, self.sum_stride), np.nan, np.float32)
            fields |= {"sums": self.sums, "sum_columns": sum_columns, "sum_stride": self.sum_stride}
        module = build_host_module(SOURCE_DIR / "arrange.cu")
        module.launch_struct("arrange", (len(self.x),), (ARRANGE_THREADS,), ARRANGE_ARGS, fields)

    def run(self, out: npt.NDArray[Any], module: HostModule | None = None, **options: Any) -> Any:
        """The product in `out`."""
        product = {**self.fields, **self.arrays, "x": self.halfs, "out": out}
        product["x_stride"] = self.halfs.shape[1]
        (module or gemm_module(self.variant)).launch_struct(
            "gemm",
            self.variant.grid(self.matrix.shape[0], len(self.x)),
            (GEMM_THREADS,),
            GEMM_ARGS,
            {
                **{f"product.{name}": value for name, value in product.items()},
                "sums": self.sums,
                "sum_stride": self.sum_stride,
            },
            **options,
        )
        return out


def multiply(matrix: Matrix, x: npt.NDArray[Any], **options: Any) -> npt.NDArray[np.float16]:
    product = Product(matrix, x)
    product.arrange()
    out = np.full((len(x), matrix.shape[0]), np.nan, np.float16)
    result: npt.NDArray[np.float16] = product.run(out, **options)
    return result


@pytest.mark.parametrize("index", range(len(VARIANTS)), ids=list(VARIANTS))
def test_every_variant_equals_float64(index: int) -> None:
    variant, group = list(VARIANTS.values())[index]
    rows, columns, num_tokens = SHAPES[index % len(SHAPES)]
    matrix, x = create_matrix(variant, (rows, columns), group), activations(num_tokens, columns)
    wanted = x.astype(np.float64) @ matrix.weight.T
    assert relative_error(multiply(matrix, x), wanted) <= 1e-3


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["w4-sym", "w4-affine-g32-two-level"])
def test_every_shape_equals_float64(name: str, shape: tuple[int, int, int]) -> None:
    variant, group = VARIANTS[name]
    matrix, x = create_matrix(variant, shape[:2], group), activations(shape[2], shape[1])
    wanted = x.astype(np.float64) @ matrix.weight.T
    assert relative_error(multiply(matrix, x), wanted) <= 1e-3


@pytest.mark.parametrize("schedule", list(Schedule))
@pytest.mark.parametrize("name", ["w4-affine-g32-two-level", "w3-sym"])
def test_the_order_of_threads_changes_nothing(name: str, schedule: Schedule) -> None:
    variant, group = VARIANTS[name]
    matrix, x = create_matrix(variant, (72, 320), group), activations(33, 320)
    found = multiply(matrix, x, schedule=schedule, reverse_blocks=schedule is Schedule.REVERSE)
    assert np.array_equal(found, multiply(matrix, x))


FAULTS = {
    "no wait for copies": ("wait_for_copies<0>();", ""),
    "no barrier before a step": ("__syncthreads();  // the step is there", "//"),
    "no barrier before the result": ("    __syncthreads();\n    share(", "    share("),
    "columns behind the last": ("columns_left_ > 0 ?", "true ?"),
    "no barrier before it is stored": ("shared.tile);\n    __syncthreads();", "shared.tile);"),
    "the slot that is being read": ("x[step % kStages][local_", "x[(step + 1) % kStages][local_"),
    "codes of the step before": ("step / kUnitSteps % 2]", "0]"),
}


# Each is compiled anew: the default suite plants the first of them.
@pytest.mark.parametrize(
    "name",
    [
        "none",
        *list(FAULTS)[:4],
        *(pytest.param(n, marks=pytest.mark.slow) for n in list(FAULTS)[4:]),
    ],
)
def test_a_planted_fault_shows(name: str, tmp_path: Path) -> None:
    text, fault = (SOURCE_DIR / "gemm.cu").read_text("utf-8"), FAULTS.get(name)
    assert fault is None or text.count(fault[0]) == 1
    (tmp_path / "gemm.cu").write_text(text.replace(*fault) if fault else text, "utf-8")
    variant, group = VARIANTS["w4-sym"]
    matrix, x = create_matrix(variant, (64, 576), group), activations(20, 576)
    module = gemm_module(GemmVariant(variant, token_block(variant, 32)), tmp_path / "gemm.cu")
    wanted = x.astype(np.float64) @ matrix.weight.T
    errors = []
    for schedule in Schedule:
        # Behind a row of activations stand NaNs, as whatever stands there on a card.
        product = Product(matrix, np.pad(x, ((0, 0), (0, 64)), constant_values=np.nan))
        out = product.run(np.zeros((20, 64), np.float16), module, schedule=schedule)
        errors.append(relative_error(out, wanted))
    assert all(error <= 1e-3 for error in errors) is (fault is None)


@pytest.mark.parametrize("norm", [Input.FLOATS, Input.RMS_NORM, Input.LAYER_NORM])
@pytest.mark.parametrize("columns", [200, 164])
def test_inputs_are_arranged(norm: Input, columns: int) -> None:
    rng = np.random.default_rng(3)
    variant, group = VARIANTS["w4-affine-g32-fp16"]
    matrix = create_matrix(variant, (24, columns), group)
    x = (3 + 5 * rng.standard_normal((10, columns))).astype(np.float32)
    weight, bias = (rng.standard_normal(columns).astype(np.float32) for _ in range(2))
    perm = rng.permutation(columns).astype(np.int32)
    arrays: Arrays = {"perm": perm}
    wanted = x.astype(np.float64)
    if norm is not Input.FLOATS:
        arrays |= {"norm_weight": weight}
        centred = wanted - wanted.mean(1, keepdims=True) if norm is Input.LAYER_NORM else wanted
        wanted = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * weight
    if norm is Input.LAYER_NORM:
        arrays |= {"norm_bias": bias}
        wanted = wanted + bias
    product = Product(matrix, x, input=norm, eps=1e-5)
    product.arrange(**arrays)
    out = product.run(np.zeros((10, 24), np.float16))
    assert relative_error(out, wanted[:, perm] @ matrix.weight.T) <= 1e-3


def apply(epilogue: Epilogue, columns: int = 40, **changes: Any) -> tuple[Any, Any]:
    """What an epilogue makes of ten tokens, and the product in float64."""
    variant, group = VARIANTS["w4-zero-g64"]
    matrix, x = create_matrix(variant, (columns, 128), group), activations(10, 128)
    product = Product(matrix, x, epilogue=epilogue)
    out = changes.pop("out", np.zeros((10, columns), np.float16))
    for name, value in changes.items():
        target = product.arrays if isinstance(value, np.ndarray) else product.fields
        target[name] = value
    return product.run(out), x.astype(np.float64) @ matrix.weight.T


def silu(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return x / (1 + np.exp(-x))


def test_floats_and_biases_are_stored() -> None:
    bias = np.random.default_rng(4).standard_normal(40).astype(np.float32)
    out, y = apply(Epilogue.STORE_FLOAT, bias=bias, out=np.zeros((10, 40), np.float32))
    assert relative_error(out, y + bias) <= 1e-5


def test_the_residual_is_added_to() -> None:
    residual = np.ones((10, 40), np.float32)
    out, y = apply(Epilogue.ADD_TO_RESIDUAL, multiplier=0.22, out=residual)
    assert relative_error(out, 1 + 0.22 * y) <= 1e-5


def test_results_are_activated() -> None:
    other = activations(10, 40, seed=5)
    out, y = apply(Epilogue.ACTIVATE)
    assert relative_error(out, silu(y)) <= 1e-3
    out, y = apply(Epilogue.GATE_WITH, other=other)
    assert relative_error(out, silu(y) * other) <= 1e-3


def test_gate_and_up_meet_in_the_epilogue() -> None:
    bias = np.random.default_rng(4).standard_normal(80).astype(np.float32)
    out = np.zeros((10, 40), np.float16)
    found, y = apply(Epilogue.GATE, columns=80, out=out, out_stride=40, bias=bias)
    rows = (y + bias).reshape(10, 5, 2, 8)
    wanted = silu(rows[:, :, 0]) * rows[:, :, 1]
    assert relative_error(found, wanted.reshape(10, 40)) <= 1e-3


def test_a_form_knows_its_blocks() -> None:
    assert [padded_tokens(count) for count in (9, 32, 33, 100)] == [32, 32, 64, 128]
    for matrix, blocks in (
        (GemvVariant(4), [32, 64, 32, 64]),
        (GemvVariant(3), [32, 64, 32, 64]),
        (GemvVariant(3, group=32), [32, 32, 32, 32]),
    ):
        assert [token_block(matrix, count) for count in (32, 64, 96, 128)] == blocks
    assert GemmVariant(GemvVariant(4)).grid(2048, 100) == (2, 32)

"""rows.cu against float64: every scheme, group and width, any rows."""

from __future__ import annotations

import sys

import numpy as np
import numpy.typing as npt
import pytest

from kernels.cuda.rows import ROWS_ARGS, ROWS_THREADS
from kernels.cuda.source import SOURCE_DIR
from tests.kernels.cuda_host import build_host_module
from tests.kernels.cuda_matrices import VARIANTS, Matrix, create_matrix

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

SHAPE, WANTED, MULTIPLIER = (37, 600), np.array([36, 0, 17, 8, 17, 14, 15, 16, 18], np.int32), 1.5


def read_rows(
    matrix: Matrix,
    rows: npt.NDArray[np.int32],
    perm: npt.NDArray[np.int32] | None = None,
) -> npt.NDArray[np.float32]:
    floats = np.full((len(rows), matrix.shape[1]), np.nan, np.float32)
    inner = {name: np.ascontiguousarray(array) for name, array in matrix.arrays.items()}
    named = {f"matrix.{name}": value for name, value in {**matrix.sizes, **inner}.items()}
    if perm is not None:
        named["matrix.perm"] = perm
    module = build_host_module(SOURCE_DIR / "rows.cu", matrix.variant.layout_macros)
    everything = {**named, "rows": rows, "floats": floats, "multiplier": MULTIPLIER}
    module.launch_struct("read_rows", (len(rows),), (ROWS_THREADS,), ROWS_ARGS, everything)
    return floats


# Each is compiled by itself: the default suite has one of each width.
QUICK = ("w4-affine-g32-two-level", "w3-zero-g32", "w8-sym-g16-two-level", "dense")


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in VARIANTS]
)
def test_rows_are_those_of_the_matrix(name: str) -> None:
    """Rows that are chosen, as an embedding's are."""
    variant, group = VARIANTS[name]
    matrix = create_matrix(variant, SHAPE, group)
    floats = read_rows(matrix, WANTED)
    assert np.allclose(floats, MULTIPLIER * matrix.weight[WANTED], rtol=1e-6, atol=1e-6)


def test_columns_are_put_where_they_belong() -> None:
    variant, group = VARIANTS["w4-zero-g64"]
    matrix = create_matrix(variant, SHAPE, group)
    perm = np.random.default_rng(1).permutation(SHAPE[1]).astype(np.int32)
    floats = read_rows(matrix, WANTED, perm=perm)
    assert np.allclose(floats[:, perm], MULTIPLIER * matrix.weight[WANTED], rtol=1e-6, atol=1e-6)

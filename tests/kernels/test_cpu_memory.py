"""Matrices of one context share mappings: none sees another, whatever is freed between them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import psutil

from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme
from app.engine.executors.cpu_weights import PlannedLinear
from kernels.cpu.native import Context, NativeLinear
from tests.kernels.cpu_linears import random_linear

QUANT = QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.TWO_LEVEL)


def _linears(count: int, shape: tuple[int, int]) -> list[Linear]:
    return [random_linear(QUANT, shape, seed, with_bias=True) for seed in range(count)]


def _products(natives: list[NativeLinear], x: npt.NDArray[np.float32]) -> list[bytes]:
    return [native.apply(x, int8_activations=True).tobytes() for native in natives]


def _alone(linear: Linear, x: npt.NDArray[np.float32]) -> bytes:
    """In a context, and so in a mapping, of its own."""
    context = Context(1)
    native = NativeLinear(context, PlannedLinear(linear).source)
    (product,) = _products([native], x)
    native.close()
    context.close()
    return product


def test_a_matrix_keeps_its_numbers_whatever_is_packed_and_freed_beside_it() -> None:
    # 3.4 MB each, so that they go beyond one mapping of 128 MiB, and rows that no tile is full of.
    linears = _linears(6, (2995, 2048))
    x = np.random.default_rng(0).standard_normal((3, 2048)).astype(np.float32)
    expected = [_alone(linear, x) for linear in linears]
    context = Context(2)
    natives = [
        NativeLinear(context, PlannedLinear(linears[index % 6]).source) for index in range(48)
    ]
    assert sum(native.num_bytes for native in natives) > 1 << 27
    for native in natives[1::2]:
        native.close()
    kept = natives[::2]
    added = [NativeLinear(context, PlannedLinear(linear).source) for linear in linears]
    assert _products(kept, x) == [expected[index % 6] for index in range(0, 48, 2)]
    assert _products(added, x) == expected
    held = psutil.Process().memory_info().rss
    for native in kept + added:
        native.close()
    # Nothing is left of any mapping, and the next one starts anew.
    assert psutil.Process().memory_info().rss < held - (1 << 26)
    again = NativeLinear(context, PlannedLinear(linears[0]).source)
    assert _products([again], x) == expected[:1]
    again.close()
    context.close()


def test_what_a_tile_leaves_unwritten_is_zeros_each_time() -> None:
    # 17 rows fill one tile and a sixteenth of another.
    linear = random_linear(QUANT, (17, 300), 1)
    x = np.ones((1, 300), np.float32)
    expected = _alone(linear, x)
    context = Context(1)
    for _ in range(3):
        native = NativeLinear(context, PlannedLinear(linear).source)
        assert _products([native], x) == [expected]
        native.close()
    context.close()

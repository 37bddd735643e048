"""gemv.cu against float64: every scheme, group and width, odd shapes, all orders of threads."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from app.checkpoint.bits import pack_codes as pack_rows
from kernels.cuda.gemv import Epilogue, GemvVariant, Input, Scheme
from kernels.cuda.pack import (
    pack_codes,
    pack_dense,
    pack_groups,
    pack_nibbles,
    unpack_codes,
    unpack_dense,
    unpack_groups,
)
from tests.kernels.cuda_host import Schedule
from tests.kernels.cuda_matrices import (
    VARIANTS,
    Launcher,
    activations,
    create_matrix,
    module_of,
    multiply,
    relative_error,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")


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


AFFINE = [name for name, (variant, _) in VARIANTS.items() if variant.scheme is Scheme.AFFINE]


@pytest.mark.parametrize("name", AFFINE)
@pytest.mark.parametrize("magnitude", [1e-3, 6e4])
def test_only_floats_round_six_bit_scales_and_any_activations(name: str, magnitude: float) -> None:
    """No sum of halfs is too large for what it is kept in, nor loses what is small; nor are codes
    times scales rounded, as K-quants have them."""
    variant, group = VARIANTS[name]
    matrix = create_matrix(replace(variant, tokens=8), (33, 576), group, greatest_unsigned=63)
    rng = np.random.default_rng(5)
    x = (magnitude * rng.uniform(0.9, 1, (3, 576))).astype(np.float16).astype(np.float32)
    launcher = Launcher(matrix, 3, input=Input.FLOATS, epilogue=Epilogue.STORE_FLOAT)
    launcher.arrays |= {"x": x, "out": np.zeros((3, 33), np.float32)}
    launcher.run(module_of(matrix.variant))
    assert relative_error(launcher.arrays["out"], x.astype(np.float64) @ matrix.weight.T) <= 2e-6


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


@pytest.mark.parametrize("schedule", [Schedule.GREEDY, Schedule.GREEDY_REVERSE, Schedule.RANDOM])
@pytest.mark.parametrize("columns", [320, 6016])
def test_fewer_blocks_walk_over_all_rows(columns: int, schedule: Schedule) -> None:
    """With columns staged once for all strips, and staged anew in parts for each."""
    variant = replace(VARIANTS["w4-affine-g32-two-level"][0], tokens=8)
    matrix, x = create_matrix(variant, (150, columns), 32), activations(5, columns)
    assert (variant.chunk_steps(matrix.sizes["num_steps"]) < columns // 64) is (columns > 6000)
    wanted = multiply(matrix, x)
    assert relative_error(wanted, x.astype(np.float64) @ matrix.weight.T) <= 1e-3
    for most_blocks in (1, 2, 3):
        found = multiply(matrix, x, most_blocks=most_blocks, schedule=schedule)
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("columns", [576, 575, 572])
@pytest.mark.parametrize("norm", [Input.RMS_NORM, Input.LAYER_NORM])
def test_the_norm_runs_in_the_prologue(norm: Input, columns: int) -> None:
    """Columns in eights and others."""
    rng = np.random.default_rng(3)
    matrix = create_matrix(GemvVariant(4, group=64, tokens=8), (32, columns), 64)
    x = (3 + 5 * rng.standard_normal((3, columns))).astype(np.float32)
    weight, bias = (rng.standard_normal(columns).astype(np.float32) for _ in range(2))
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


@pytest.mark.parametrize("most_blocks", [None, 2])
def test_logits_come_with_the_greatest_of_each_strip(most_blocks: int | None) -> None:
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
    launcher.run(module_of(matrix.variant), most_blocks=most_blocks)
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


@pytest.mark.parametrize("shape", [(16, 64), (33, 201), (5, 575), (100, 1000)])
def test_nibbles_are_packed_as_their_codes(shape: tuple[int, int]) -> None:
    codes = np.random.default_rng(0).integers(0, 16, shape, dtype=np.uint8)
    packed = pack_rows(codes, 4)
    packed[:, -1] |= np.uint8(0xF0 if shape[1] % 2 else 0)  # behind the last code: anything
    found, wanted = pack_nibbles(packed, shape[1]), pack_codes(codes, 4)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert np.array_equal(found, wanted)


def test_tiles_give_dense_weights_and_groups_back() -> None:
    weight = np.random.default_rng(0).standard_normal((33, 200)).astype(np.float16)
    assert np.array_equal(unpack_dense(pack_dense(weight), weight.shape), weight)
    for together in (1, 2, 4):
        assert np.array_equal(unpack_groups(pack_groups(weight, together), weight.shape), weight)

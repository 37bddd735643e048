"""Codes go into the CUDA kernels' tiles natively, to the byte as NumPy puts them there."""

from __future__ import annotations

import numpy as np
import pytest

from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.engine.executors.cuda import code_tiles
from kernels.cpu import conversion
from kernels.cpu.loader import NativeError
from kernels.cuda.pack import empty_tiles, pack_dense, unpack_codes

BITS = (3, 4, 8)
SHAPES = (
    (1, 1),
    (16, 64),
    (15, 63),
    (17, 65),
    (33, 255),
    (48, 256),
    (5, 2051),
    (160, 576),
    (8, 896),
)


def random_rows(shape: tuple[int, int], bits: int) -> np.ndarray:
    """Bits beyond the last column are no codes and must not be seen."""
    rng = np.random.default_rng(shape[0] * 5000 + shape[1] + bits)
    return rng.integers(0, 256, (shape[0], -(-shape[1] * bits // 8)), np.uint8)


def native_tiles(rows: np.ndarray, bits: int, num_columns: int, is_signed: bool) -> np.ndarray:
    tiles = empty_tiles((len(rows), num_columns), bits)
    tiles.view(np.uint8)[...] = 0xA5
    conversion.pack_cuda_tiles(rows, bits, num_columns, is_signed, tiles)
    return tiles


@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_tiles(shape: tuple[int, int], bits: int, is_signed: bool) -> None:
    rows = random_rows(shape, bits)
    wanted = code_tiles.tiles_by_numpy(rows, bits, shape[1], is_signed)
    found = native_tiles(rows, bits, shape[1], is_signed)
    assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_tiles_of_halfs(shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    weight = np.random.default_rng(0).normal(size=shape).astype(np.float16)
    found = code_tiles.tiles_of_halfs(weight)
    assert (found.shape, found.tobytes()) == (
        pack_dense(weight).shape,
        pack_dense(weight).tobytes(),
    )
    transposed = np.asfortranarray(weight)
    assert code_tiles.tiles_of_halfs(transposed).tobytes() == found.tobytes()
    monkeypatch.setattr(code_tiles, "is_available", lambda: False)
    assert code_tiles.tiles_of_halfs(weight).tobytes() == found.tobytes()


@pytest.mark.parametrize("bits", BITS)
def test_with_and_without_the_library(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that stand apart, as those of a part of a matrix do; and back to the codes."""
    rows, shape = random_rows((40, 160), bits)[::2], (20, 160)
    quant = QuantScheme(bits, 32, Scheme.SYM, ScaleDtype.FP16)
    found = code_tiles.tiles_of_codes(rows, quant, 160)
    monkeypatch.setattr(code_tiles, "is_available", lambda: False)
    assert code_tiles.tiles_of_codes(rows, quant, 160).tobytes() == found.tobytes()
    bitwise = np.unpackbits(rows, axis=1, bitorder="little").reshape(20, 160, bits)
    codes = np.packbits(bitwise, axis=2, bitorder="little")[..., 0] ^ (1 << (bits - 1))
    assert np.array_equal(unpack_codes(found, bits, shape), codes)


def test_sizes_that_do_not_fit_are_refused() -> None:
    rows = np.zeros((16, 64), np.uint8)
    with pytest.raises(ValueError, match="tiles of another size"):
        conversion.pack_cuda_tiles(rows, 4, 128, False, empty_tiles((16, 256), 4))
    with pytest.raises(NativeError, match="shorter than their columns"):
        conversion.pack_cuda_tiles(rows, 4, 256, False, empty_tiles((16, 256), 4))

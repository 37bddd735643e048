"""What the native library does for conversions is to the bit what NumPy does without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from app.converter import grid_search
from app.converter.sources.gguf_blocks import NATIVE_TYPES
from app.converter.sources.gguf_codes import UNPACKERS
from app.spec.gguf_types import GGML_TYPES
from kernels.cpu import build, conversion, loader
from kernels.cpu.loader import NativeError, instruction_sets

Floats = npt.NDArray[np.float32]
BLOCK_BYTES = {kind.name: kind.block_bytes for kind in GGML_TYPES.values()}
GROUPS = (16, 32, 48, 64, 128)


@pytest.fixture(params=instruction_sets())
def instruction_set(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def awkward_groups(group_size: int) -> Floats:
    """Heavy tails; groups of zeros of both signs, of one weight, tiny, huge and equal numbers."""
    rng = np.random.default_rng(group_size)
    weights = (rng.standard_t(3, (400, group_size)) * 0.02).astype(np.float32)
    weights[0], weights[1], weights[2] = 0.0, -0.0, 0.5
    weights[3] = 0.0
    weights[3, -1] = -1.0
    weights[4] *= 1e-30
    weights[5] *= 1e15
    weights[6] = np.arange(group_size) - group_size // 2
    weights[7] = 1e-42  # below the normal numbers
    return weights


def competing_scales(num_groups: int) -> Floats:
    scales = np.random.default_rng(0).normal(0, 0.01, num_groups).astype(np.float32)
    scales[10:14] = (0.0, 1e30, 1e-30, -1.0)
    return scales


def numpy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_search, "is_available", lambda: False)


@pytest.mark.parametrize("competes", [False, True])
@pytest.mark.parametrize("bits", [3, 4, 8])
@pytest.mark.parametrize("group_size", GROUPS)
def test_the_same_scales_and_codes(
    group_size: int,
    bits: int,
    competes: bool,
    instruction_set: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    numpy_alone(monkeypatch)
    weights = awkward_groups(group_size)
    competing = competing_scales(len(weights)) if competes else None
    scales = grid_search.search_scales(weights, bits, competing)
    codes, decoded = grid_search.round_to_grid(weights, scales, bits)
    levels = grid_search.LEVELS[bits]
    found = conversion.search_scales(weights, bits, levels, competing, instruction_set)
    rounded = conversion.round_to_grid(weights, scales, bits, instruction_set)
    assert found.tobytes() == scales.tobytes()
    assert rounded[0].tobytes() == codes.tobytes()
    assert rounded[1].tobytes() == decoded.tobytes()


@pytest.mark.parametrize("name", NATIVE_TYPES)
def test_the_same_codes_of_every_block(name: str, instruction_set: str) -> None:
    native = NATIVE_TYPES[name]
    shape = (5, 768 // native.block_columns, BLOCK_BYTES[name])
    blocks = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    packed_bytes = native.quant.row_bytes(native.block_columns)
    found = conversion.unpack_blocks(name, blocks, packed_bytes, instruction_set)
    wanted = UNPACKERS[name](blocks)
    assert (found.shape, found.tobytes()) == (wanted.shape, wanted.tobytes())


def test_arrays_of_any_layout() -> None:
    weights = np.asfortranarray(awkward_groups(32))
    straight = conversion.search_scales(weights.copy(order="C"), 4, grid_search.LEVELS[4])
    assert np.array_equal(conversion.search_scales(weights, 4, grid_search.LEVELS[4]), straight)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(NativeError, match="no such groups or bits"):
        conversion.search_scales(np.zeros((2, 24), np.float32), 4, (7.0,))
    with pytest.raises(NativeError, match="no such groups or bits"):
        conversion.round_to_grid(np.zeros((2, 256), np.float32), np.zeros(2, np.float32), 4)
    for name, packed_bytes in (("Q4_K", 96), ("IQ2_XXS", 128)):
        with pytest.raises(NativeError, match="no such type of blocks"):
            conversion.unpack_blocks(name, np.zeros((1, 1, 144), np.uint8), packed_bytes)


def test_a_library_that_is_not_built_is_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEPINFER_CPU_LIBRARY", raising=False)
    assert loader.is_available()
    missing = tmp_path / "missing.so"
    monkeypatch.setattr(build, "library_path", lambda: missing)
    assert not loader.is_available.__wrapped__()
    missing.write_bytes(b"no library")
    monkeypatch.setenv("DEEPINFER_CPU_LIBRARY", str(missing))
    loader.load.cache_clear()
    assert not loader.is_available.__wrapped__()
    loader.load.cache_clear()

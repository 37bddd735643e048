"""Runs every kernel over small odd shapes while a sanitizer watches. Not a test itself."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence

import numpy as np

from app.checkpoint.schemes import QuantScheme, ScaleDtype
from app.converter.grid_search import LEVELS
from app.converter.sources.gguf_blocks import NATIVE_TYPES
from app.engine.executors.cpu_weights import PlannedLinear
from app.spec.gguf_types import GGML_TYPES
from kernels.cpu import conversion
from kernels.cpu.loader import instruction_sets
from kernels.cpu.native import Context, NativeLinear
from kernels.cuda.pack import empty_tiles
from tests.kernels.cpu_decoders import FREE_PAGE, PAGES, Native
from tests.kernels.cpu_linears import DENSE_DTYPES, SIX_BIT_CODES, dense_linear, random_linear
from tests.kernels.test_cpu_linear import SCHEMES, SIX_BIT_SCHEMES
from tests.kernels.test_cpu_model import TOKENS, VARIANTS

SHAPES = [(17, 33), (5, 300)]
K_QUANTS = [quant for quant in SCHEMES if quant.scale_dtype is ScaleDtype.TWO_LEVEL]
ATTENTION_VARIANTS = ("groups_of_three", "wide_heads", "window_over_pages")


def exercise_linears(instruction_set: str, schemes: Sequence[QuantScheme] = SCHEMES) -> None:
    """Products and rows of schemes, arrays of exactly the format's size."""
    context = Context(3, instruction_set)
    quantized = [
        random_linear(quant, shape, with_perm=True) for quant in schemes for shape in SHAPES
    ]
    dense = [dense_linear(dtype, shape) for dtype in DENSE_DTYPES for shape in SHAPES]
    small = [
        random_linear(quant, shape, codes=SIX_BIT_CODES)
        for quant in SIX_BIT_SCHEMES
        for shape in SHAPES
    ]
    for linear in quantized + dense + small:
        native = NativeLinear(context, PlannedLinear(linear, six_bits=True).source)
        for num_rows, int8_activations in itertools.product((1, 15), (False, True)):
            x = np.ones((num_rows, linear.shape[1]), np.float32)
            native.apply(x, int8_activations=int8_activations)
        native.row(linear.shape[0] - 1)
        native.close()
    context.close()


def exercise_conversion(instruction_set: str) -> None:
    """Searches, roundings and blocks in arrays of exactly their size."""
    rng = np.random.default_rng(0)
    for group_size, bits in itertools.product((16, 48, 128), (3, 4, 8)):
        weights = rng.normal(size=(5, group_size)).astype(np.float32)
        levels, ones = LEVELS[bits], np.ones(5, np.float32)
        scales = conversion.search_scales(weights, bits, levels, ones, instruction_set)
        conversion.round_to_grid(weights, scales, bits, instruction_set)
    sizes = {kind.name: kind.block_bytes for kind in GGML_TYPES.values()}
    for name, native in NATIVE_TYPES.items():
        blocks = rng.integers(0, 256, (1, 3, sizes[name]), np.uint8)
        packed_bytes = native.quant.row_bytes(native.block_columns)
        conversion.unpack_blocks(name, blocks, packed_bytes, instruction_set)


def exercise_tiles() -> None:
    """Codes of the CUDA kernels, arrays of exactly their size."""
    for bits, shape in itertools.product((3, 4, 8, 16), SHAPES):
        rows = np.ones((shape[0], -(-shape[1] * bits // 8)), np.uint8)
        tiles = empty_tiles(shape, bits)
        conversion.pack_cuda_tiles(rows, bits, shape[1], bits < 16, tiles)


def exercise_models(instruction_set: str) -> None:
    """Prefill over a page's border, then decode; with every cache where attention differs."""
    for name, decoder in VARIANTS.items():
        for kv_type in range(3) if name in ATTENTION_VARIANTS else (0,):
            native = Native(decoder, instruction_set, kv_type)
            native.run(TOKENS[:250])
            for position in range(250, 260):
                native.run(TOKENS[position : position + 1], start=position, slot=0)
            exercise_pages(native)
            native.close()


def exercise_pages(native: Native) -> None:
    """A page that two slots have, copies, bytes out and in, states."""
    model, free = native.model, FREE_PAGE
    model.copy_page(PAGES[0][0], free)
    model.write_page(PAGES[1][0], model.read_page(free))
    model.map_pages(1, [PAGES[0][0], free])
    native.run(TOKENS[:7], start=256, slot=1)
    model.write_state(1, model.read_state(0))
    native.run(TOKENS[:7], slot=1)


def main() -> None:
    """All of it, on every instruction set; k-quants and models on one are what `threads` share."""
    if sys.argv[1:] == ["threads"]:
        exercise_linears(instruction_sets()[0], K_QUANTS)
        exercise_models(instruction_sets()[0])
    else:
        exercise_tiles()
        for instruction_set in instruction_sets():
            exercise_linears(instruction_set)
            exercise_conversion(instruction_set)
            exercise_models(instruction_set)
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()

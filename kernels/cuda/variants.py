"""The modules that checkpoints commonly need: what a bundle holds.

Anything else (an odd head size, a rare pair of scheme and group) is compiled when it is needed,
where a compiler is installed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kernels.cuda.attention import AttentionVariant
from kernels.cuda.delta_net import DeltaVariant
from kernels.cuda.gemm import GemmVariant, token_blocks
from kernels.cuda.gemv import MAX_TOKENS, GemvVariant, Scheme, ValueType
from kernels.cuda.latent import LatentVariant
from kernels.cuda.source import ModuleSource

_FP32, _U8, _I8 = ValueType.FP32, ValueType.TWO_LEVEL_U8, ValueType.TWO_LEVEL_I8
_AFFINE, _ZERO = Scheme.AFFINE, Scheme.ZERO

# By where they come from; groups wider than 128 run as 128 (`GemvVariant`).
LAYOUTS = (
    GemvVariant(16),  # dense
    *(GemvVariant(bits, group=group) for bits in (3, 4, 8) for group in (32, 64, 128)),  # own grids
    # GGUF: Q4_0, Q5_0, Q8_0 and IQ4_NL are among the above; Q4_1, Q5_1; Q2_K, Q3_K, Q4_K, Q5_K,
    # Q6_K; IQ4_XS; MXFP4.
    *(GemvVariant(bits, _AFFINE, 32) for bits in (4, 8)),
    GemvVariant(3, _AFFINE, 16, _U8, _U8),
    GemvVariant(3, Scheme.SYM, 16, _I8),
    *(GemvVariant(bits, _AFFINE, 32, _U8, _U8) for bits in (4, 8)),
    GemvVariant(8, Scheme.SYM, 16, _I8),
    GemvVariant(8, Scheme.SYM, 32, _I8),
    GemvVariant(8, Scheme.SYM, 32, _FP32),
    # GPTQ and AWQ, symmetric ones among the above.
    *(GemvVariant(4, _ZERO, group) for group in (32, 64, 128)),
    *(GemvVariant(bits, _ZERO) for bits in (3, 8)),
    # compressed-tensors, bitsandbytes, EXL2; MLX.
    *(GemvVariant(bits, Scheme.SYM, 128, _FP32) for bits in (4, 8)),
    *(GemvVariant(bits, _AFFINE, 64, _FP32, _FP32) for bits in (4, 8)),
)
HEAD_DIMS = (64, 80, 96, 128, 256)
LATENT_DIMS = ((512, 64),)  # DeepSeek, Kimi, GLM
DELTA_NETS = (DeltaVariant(key_dim=128, value_dim=128, conv_kernel=4),)  # Qwen3-Next and Qwen3.5
_WITHOUT_MACROS = ("arrange.cu", "copy.cu", "experts.cu", "norm.cu", "router.cu", "sampling.cu")


def iter_sources() -> Iterator[ModuleSource]:
    """Each once."""
    for layout in LAYOUTS:
        yield from _iter_products(layout)
    for int8_kv in (False, True):
        for head_dim in HEAD_DIMS:
            attention = AttentionVariant(head_dim, int8_kv)
            yield attention.rope_source
            yield attention.attention_source
            yield attention.chunk_source
        for latent_dim, rope_dim in LATENT_DIMS:
            latent = LatentVariant(latent_dim, rope_dim, int8_kv)
            yield latent.rope_source
            yield latent.attention_source
    yield from (delta_net.source for delta_net in DELTA_NETS)
    yield from map(ModuleSource, _WITHOUT_MACROS)


def _iter_products(layout: GemvVariant) -> Iterator[ModuleSource]:
    """Rows of an embedding; products of one row, of eight, of chunks; those of experts."""
    yield ModuleSource("rows.cu", layout.layout_macros)
    for is_stack in (False, True):
        for tokens in (1, MAX_TOKENS):
            yield replace(layout, is_stack=is_stack, tokens=tokens).source
    for tokens in token_blocks(layout):
        yield GemmVariant(layout, tokens).source

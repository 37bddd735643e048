"""What the cpu executor's tiles take less than the same weights on disk."""

from __future__ import annotations

from app.checkpoint.schemes import QuantScheme, Scheme

# Of ggml's types those whose codes, stored with eight bits, are in -32..31.
_SIX_BIT_TYPES = frozenset({"Q5_0", "Q6_K", "MXFP4"})


def saved_bytes(shape: tuple[int, int], quant: QuantScheme | None, source_type: str) -> int:
    """Of a linear [out, in] that kept the codes of a source's type; 0 where tiles are as large.

    The library looks at the codes themselves (`kernels/cpu/src/tiles.h`, int6): others that
    happen to fit take less than planned.
    """
    is_six_bit = source_type in _SIX_BIT_TYPES and quant is not None and quant.bits == 8
    if not is_six_bit or quant is None or quant.scheme is not Scheme.SYM:
        return 0
    return shape[0] * shape[1] // 4

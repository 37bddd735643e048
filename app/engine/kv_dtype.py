"""How an executor stores keys and values."""

from __future__ import annotations

_ELEMENT_BYTES = {"fp16": 2, "int8": 1, "fp32": 4}
_SCALE_BYTES = 2


def kv_head_bytes(kv_dtype: str, head_dim: int) -> int:
    """Bytes of one position's key (or value) of one head; int8 has a float16 scale beside it.

    `kv_dtype` is one of `app.core.device.KV_DTYPES`.
    """
    return _ELEMENT_BYTES[kv_dtype] * head_dim + (_SCALE_BYTES if kv_dtype == "int8" else 0)

"""The convolution of a gated delta net: a kernel per channel, under one of two spellings.

Hugging Face stores it as [channels, 1, kernel]. MLX moves its last axis to the middle, [channels,
kernel, 1], and whoever wrote a folder so has also added 1 to the norms of 1 + w (mlx-lm:
models/qwen3_next.py and qwen3_5.py, `sanitize`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from app.converter.sources.hf_folder import StoredArray

_NAME = ".linear_attn.conv1d.weight"


def has_shifted_norms(tensors: Mapping[str, StoredArray]) -> bool:
    """Whether norms of 1 + w are stored as that sum, which the moved axis gives away."""
    return any(
        name.endswith(_NAME) and stored.shape[2:] == (1,) for name, stored in tensors.items()
    )


def squeeze_kernels(tensors: Mapping[str, StoredArray]) -> dict[str, StoredArray]:
    """All tensors by name, kernels as [channels, kernel]: the same elements in the same order."""
    return {name: _squeeze(name, stored) for name, stored in tensors.items()}


def _squeeze(name: str, stored: StoredArray) -> StoredArray:
    if not name.endswith(_NAME) or len(stored.shape) != 3 or 1 not in stored.shape[1:]:
        return stored
    shape = (stored.shape[0], stored.shape[1] * stored.shape[2])
    return stored if stored.strides is not None else replace(stored, shape=shape)

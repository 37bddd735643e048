"""Arguments and variants of latent.cu and latent_attention.cu, as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernels.cuda.attention import KV_CACHE
from kernels.cuda.build import ModuleSource

LATENT_ROPE_THREADS = 32
LATENT_ATTENTION_THREADS = 128
COLUMN_STEP = 8  # what a lane reads at once: both parts of a row have whole steps
INT8_COLUMN_STEP = 32  # columns of one scale, of the latent part

# LatentArgs of latent.cu.
LATENT_ARGS = np.dtype(
    [
        *((name, np.uintp) for name in (
            "latent", "q", "queries", "norm_weight", "inv_freq", "slots", "positions",
        )),
        ("cache", KV_CACHE),
        *((name, np.int32) for name in ("latent_stride", "num_heads", "q_head_dim")),
        *((name, np.float32) for name in ("eps", "cos_sin_factor")),
    ],
    align=True,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LatentVariant:
    """One compiled form of both: columns of the latent vector, and of the rotary part."""

    latent_dim: int
    rope_dim: int
    int8_kv: bool = False

    @property
    def key_dim(self) -> int:
        """Columns of a row of the cache."""
        return self.latent_dim + self.rope_dim

    @property
    def rope_source(self) -> ModuleSource:
        """Kernel `rotate_and_store_latent`."""
        return ModuleSource("latent.cu", self._macros)

    @property
    def attention_source(self) -> ModuleSource:
        """Kernel `attend_latent`, of AttentionArgs."""
        return ModuleSource("latent_attention.cu", self._macros)

    @property
    def _macros(self) -> tuple[tuple[str, str], ...]:
        return (
            ("LATENT_DIM", str(self.latent_dim)),
            ("ROPE_DIM", str(self.rope_dim)),
            ("INT8_KV", str(int(self.int8_kv))),
        )

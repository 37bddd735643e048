"""A layer's gated delta net on the device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.reader import Checkpoint
from app.engine.executors.cuda.launcher import Allocator, Buffer
from app.engine.executors.cuda.matrices import DeviceMatrix, stack, upload_matrix
from app.spec.delta_net_spec import decay_rates

_PROJECTIONS = ("in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a")


@dataclass(frozen=True, slots=True)
class DeviceDelta:
    """`projections` are of queries, keys and values, gates, betas, decays: one matrix where they
    are stored alike. The vectors are float32: `conv` [kernel, channels], `decay_rates` exp(A_log).
    """

    projections: list[DeviceMatrix]
    conv: Buffer
    decay_rates: Buffer
    dt_bias: Buffer
    norm_weight: Buffer


class DeltaLoader:
    """Uploads the delta net of one layer, `prefix` being `layers.<n>.linear_attn`."""

    def __init__(self, allocator: Allocator, checkpoint: Checkpoint, prefix: str) -> None:
        self._allocator, self._checkpoint, self._prefix = allocator, checkpoint, prefix

    def load(self) -> DeviceDelta:
        """Raises UnsupportedError for a weight that the kernels cannot hold."""
        return DeviceDelta(
            projections=self._projections(),
            conv=self._vector("conv1d", np.transpose),
            decay_rates=self._vector("A_log", decay_rates),
            dt_bias=self._vector("dt_bias"),
            norm_weight=self._vector("norm"),
        )

    def _projections(self) -> list[DeviceMatrix]:
        linears = [self._checkpoint.linear(f"{self._prefix}.{name}") for name in _PROJECTIONS]
        fused = stack(linears)
        if fused is not None:
            return [upload_matrix(self._allocator, fused, f"{self._prefix}.in_proj")]
        pairs = zip(linears, _PROJECTIONS, strict=True)
        return [
            upload_matrix(self._allocator, linear, f"{self._prefix}.{name}")
            for linear, name in pairs
        ]

    def _vector(
        self, name: str, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]] = np.asarray
    ) -> Buffer:
        vector = np.array(self._checkpoint.vector(f"{self._prefix}.{name}"), np.float32)
        return self._allocator.upload_new(change(vector))

"""The launches of a gated delta net, from the residual to what its out_proj reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from app.engine.executors.cuda.delta_weights import DeviceDelta
from app.engine.executors.cuda.launcher import Allocator, Buffer, Launch, fill
from app.engine.executors.cuda.parts import Striped
from app.spec.delta_net_spec import DeltaNetSpec
from app.spec.model_spec import ModelSpec
from kernels.cuda.delta_net import CONV_THREADS, DELTA_ARGS, DeltaVariant
from kernels.cuda.gemv import Epilogue

Multiply = Callable[..., Iterator[Launch]]
_FLOAT_BYTES = 4


@dataclass(frozen=True, slots=True)
class DeltaStates:
    """What a layer knows of each slot's past."""

    windows: Buffer
    matrices: Buffer


class DeltaBuffers:
    """What delta nets work in, `num_rows` at once, and the states of all linear layers."""

    def __init__(
        self,
        allocator: Allocator,
        spec: ModelSpec,
        delta: DeltaNetSpec,
        num_slots: int,
        num_rows: int,
    ) -> None:
        self._delta = delta
        self.projected = allocator.allocate(num_rows * _width(delta) * _FLOAT_BYTES)
        self.mixed = allocator.allocate(num_rows * delta.num_channels * _FLOAT_BYTES)
        window = self._window_bytes
        self.states = {
            index: DeltaStates(
                allocator.allocate(num_slots * window),
                allocator.allocate(num_slots * (delta.state_bytes - window)),
            )
            for index in filter(spec.is_linear, range(spec.num_hidden_layers))
        }

    @property
    def _window_bytes(self) -> int:
        delta = self._delta
        return delta.num_channels * (delta.linear_conv_kernel_dim - 1) * _FLOAT_BYTES

    def iter_slot_parts(self) -> Iterator[Striped]:
        """What each slot has of all states."""
        for state in self.states.values():
            yield Striped(state.windows, self._window_bytes)
            yield Striped(state.matrices, self._delta.state_bytes - self._window_bytes)


@dataclass(frozen=True, slots=True)
class DeltaRows:
    """The rows that run, those of a slot together and in order, and where their result goes."""

    slots: Buffer
    positions: Buffer
    out: Buffer
    num_rows: int


class DeltaPlanner:
    """Writes the launches; `multiply` is that of the step's `Products`."""

    def __init__(
        self, spec: ModelSpec, delta: DeltaNetSpec, buffers: DeltaBuffers, multiply: Multiply
    ) -> None:
        self._spec, self._delta, self._buffers = spec, delta, buffers
        self._multiply = multiply
        self._variant = DeltaVariant(
            delta.linear_key_head_dim, delta.linear_value_head_dim, delta.linear_conv_kernel_dim
        )

    def run(
        self, index: int, weights: DeviceDelta, source: dict[str, Any], rows: DeltaRows
    ) -> Iterator[Launch]:
        """Of layer `index`; `source`: the GemvArgs by which products read the residual."""
        width, offset = _width(self._delta), 0
        for matrix in weights.projections:
            yield from self._multiply(
                matrix,
                rows.num_rows,
                **source,
                out=self._buffers.projected.skip(offset * _FLOAT_BYTES),
                out_stride=width,
                epilogue=Epilogue.STORE_FLOAT,
            )
            offset += matrix.shape[0]
        yield from self._move_on(index, weights, rows)

    def _move_on(self, index: int, weights: DeviceDelta, rows: DeltaRows) -> Iterator[Launch]:
        delta, buffers, variant = self._delta, self._buffers, self._variant
        states = buffers.states[index]
        argument = fill(
            DELTA_ARGS,
            x=buffers.projected,
            mixed=buffers.mixed,
            out=rows.out,
            conv=weights.conv,
            decay_rates=weights.decay_rates,
            dt_bias=weights.dt_bias,
            norm_weight=weights.norm_weight,
            windows=states.windows,
            states=states.matrices,
            slots=rows.slots,
            positions=rows.positions,
            num_rows=rows.num_rows,
            x_stride=_width(delta),
            num_key_heads=delta.linear_num_key_heads,
            num_value_heads=delta.linear_num_value_heads,
            eps=self._spec.rms_norm_eps,
        )
        channels = (-(-delta.num_channels // CONV_THREADS), rows.num_rows)
        yield Launch(variant.source, "convolve", channels, (CONV_THREADS,), argument)
        heads, threads = (delta.linear_num_value_heads, rows.num_rows), (variant.num_threads,)
        yield Launch(variant.source, "apply_delta_rule", heads, threads, argument)


def _width(delta: DeltaNetSpec) -> int:
    """Columns of all projections."""
    return delta.num_channels + delta.value_size + 2 * delta.linear_num_value_heads

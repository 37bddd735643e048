"""A layer's latent attention on the device, its expansion absorbed into queries and outputs.

Scores of a head are q_nope . (W_uk c) = (W_uk^T q_nope) . c for the latent vector c, and its output
is W_uv (weights . c): the cache holds c alone. W_uk^T is kept as halfs, since its rows are columns
of what is stored, whose groups lie across them; W_uv is kept as it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize, select_rows
from app.checkpoint.schemes import Linear
from app.engine.executors.cuda.launcher import Allocator, Buffer
from app.engine.executors.cuda.matrices import DeviceMatrix, upload_matrix
from app.engine.executors.cuda.stacks import DeviceStack, storage_of, upload_stacks
from app.spec.mla_spec import MlaSpec

_Form = Callable[[Linear, slice], Linear]


@dataclass(frozen=True, slots=True)
class DeviceLatent:
    """`q_up` reads the normed result of `q_down`, or without that the residual.

    `absorb` [kv_lora_rank, qk_nope_head_dim] and `expand` [v_head_dim, kv_lora_rank] are stacks of
    as many matrices as there are heads.
    """

    q_down: DeviceMatrix | None
    q_norm: Buffer | None
    q_up: DeviceMatrix
    kv_down: DeviceMatrix
    kv_norm: Buffer
    absorb: DeviceStack
    expand: DeviceStack

    def iter_matrices(self) -> Iterator[DeviceMatrix]:
        """All of them."""
        if self.q_down is not None:
            yield self.q_down
        yield from (self.q_up, self.kv_down, self.absorb.matrix, self.expand.matrix)


class LatentLoader:
    """Uploads the latent attention of one layer, `prefix` being `layers.<n>.self_attn`."""

    def __init__(
        self,
        allocator: Allocator,
        checkpoint: Checkpoint,
        mla: MlaSpec,
        num_heads: int,
        prefix: str,
    ) -> None:
        self._allocator, self._checkpoint, self._mla = allocator, checkpoint, mla
        self._num_heads, self._prefix = num_heads, prefix

    def load(self) -> DeviceLatent:
        """Raises UnsupportedError for a weight that the kernels cannot hold."""
        is_low = self._mla.q_lora_rank is not None
        return DeviceLatent(
            q_down=self._matrix("q_a_proj") if is_low else None,
            q_norm=self._vector("q_a_layernorm") if is_low else None,
            q_up=self._matrix("q_b_proj" if is_low else "q_proj"),
            kv_down=self._matrix("kv_a_proj_with_mqa"),
            kv_norm=self._vector("kv_a_layernorm"),
            absorb=self._stack(_transposed, "absorb", 0, self._mla.qk_nope_head_dim),
            expand=self._stack(_as_stored, "expand", self._mla.qk_nope_head_dim, None),
        )

    def _stack(self, form: _Form, name: str, first: int, end: int | None) -> DeviceStack:
        """Rows [first, end) of each head's rows of kv_b_proj, in some form."""
        expansion = self._checkpoint.linear(f"{self._prefix}.kv_b_proj")
        head_rows = self._mla.qk_nope_head_dim + self._mla.v_head_dim
        loaders = [
            partial(
                form,
                expansion,
                slice(head * head_rows + first, head * head_rows + (end or head_rows)),
            )
            for head in range(self._num_heads)
        ]
        storages = [storage_of(loaders[0]())] * self._num_heads
        (stack,) = upload_stacks(self._allocator, loaders, storages, f"{self._prefix}.{name}")
        return stack

    def _matrix(self, name: str) -> DeviceMatrix:
        full_name = f"{self._prefix}.{name}"
        return upload_matrix(self._allocator, self._checkpoint.linear(full_name), full_name)

    def _vector(self, name: str) -> Buffer:
        vector = self._checkpoint.vector(f"{self._prefix}.{name}")
        return self._allocator.upload_new(np.array(vector, np.float32))


def _as_stored(expansion: Linear, rows: slice) -> Linear:
    return select_rows(expansion, rows)


def _transposed(expansion: Linear, rows: slice) -> Linear:
    weight = np.ascontiguousarray(dequantize(select_rows(expansion, rows)).T)
    return Linear(shape=(weight.shape[0], weight.shape[1]), weight=weight)

"""How much context fits: weights + KV cache + workspace against the memory that is left. Bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import psutil

from app.checkpoint.layout import stored_bytes
from app.checkpoint.schemes import VOCABULARY_BITS, QuantScheme, ScaleDtype, Scheme
from app.core.errors import MemoryShortageError, UsageError
from app.core.memory_shortage import MemoryRemedy, MemoryShortage, RemedyKind
from app.engine.executors import cpu_workspace
from app.engine.executors.block_tables import pages_for
from app.engine.executors.cpu_workspace import whole_vectors
from app.engine.executors.factory import executor_class
from app.engine.kv_dtype import kv_head_bytes
from app.engine.pool_plan import choose_pages, choose_slots
from app.engine.remedies import choose_remedies
from app.spec.model_spec import ModelSpec
from app.spec.rope import RopeType
from app.spec.weights import VOCABULARY_LINEARS, iter_linears, iter_vectors, stays_dense

# Left to the system and to everything that starts after the model is loaded.
RESERVE_BYTES = 512 << 20
MIN_MODEL_LEN = 128
GRID_BITS = {"w4": 4, "w3": 3, "w8": 8}
_GRID_GROUP = 128
_GROUP_SIZES = (128, 64, 32, 16)
_NONE: Mapping[str, int] = MappingProxyType({})
_NORM_BYTES = 4
_DENSE_BYTES = 4


@dataclass(frozen=True, slots=True)
class ExecutorCosts:
    """What an executor will hold: its weights, and what its KV cache stores.

    What else it could hold: a cache of 8 bits, weights of 3 (None: those would not be smaller).
    """

    weights_bytes: int
    kv_dtype: str
    expands_latents: bool = False
    has_int8_kv: bool = False
    w3_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """The context that was chosen, the pool for how many sequences, and the sums behind it."""

    max_model_len: int
    num_slots: int
    num_pages: int
    weights_bytes: int
    kv_bytes_per_token: int
    workspace_bytes: int
    available_bytes: int
    state_bytes: int  # of linear layers, of all slots, however long their contexts


@dataclass(frozen=True, slots=True)
class FitRow:
    """One line of the fit table: the context that would fit if the model were stored on `grid`,
    with the executor's own KV cache, and with an int8 one if it has that."""

    grid: str
    weights_bytes: int
    kv_bytes_per_token: int
    max_context: int
    max_context_int8_kv: int


def available_memory_bytes() -> int:
    """What can be taken without swapping, less the reserve; other processes are subtracted."""
    return max(0, psutil.virtual_memory().available - RESERVE_BYTES)


def kv_bytes_per_token(spec: ModelSpec, kv_dtype: str, *, expands_latents: bool = False) -> int:
    """Keys and values of all layers that cache them, for one position.

    Of latent attention the latent vector and the columns that rotate, one row for all heads,
    unless the executor expands them before it caches them.
    """
    if spec.mla is not None and not expands_latents:
        widths = [whole_vectors(spec.mla.kv_lora_rank), whole_vectors(spec.mla.qk_rope_head_dim)]
        num_heads = 1
    else:
        widths = [spec.head_dim, spec.value_head_dim]
        num_heads = spec.num_key_value_heads
    per_head = sum(kv_head_bytes(kv_dtype, width) for width in widths)
    return spec.num_cached_layers * num_heads * per_head


def workspace_bytes(spec: ModelSpec) -> int:
    """Activations of one piece of a prompt, and one row of logits, in the cpu executor."""
    return cpu_workspace.workspace_bytes(spec)


def native_max_model_len(spec: ModelSpec) -> int:
    """The context that the model claims, as far as it needs no change of its rope frequencies.

    Dynamic and longrope frequencies depend on the sequence's length. Up to the trained length they
    are those of transformers; beyond it they are fixed by the context that is asked for explicitly
    (`RopeSpec.inverse_frequencies`), since changing them midway would invalidate the KV cache.
    """
    if spec.rope.rope_type in (RopeType.DYNAMIC, RopeType.LONGROPE):
        return min(spec.max_position_embeddings, spec.rope.original_max_position_embeddings)
    return spec.max_position_embeddings


def plan_memory(
    spec: ModelSpec,
    costs: ExecutorCosts,
    available_bytes: int,
    wanted_len: int | None = None,
    num_slots: int = 1,
    shares_pages: bool = False,
) -> MemoryPlan:
    """Chooses the context: `wanted_len`, or as much of the model's own as fits.

    Each of `num_slots` sequences has pages for a whole context, or, with `shares_pages`, what
    `pool_plan` chooses. Raises UsageError for a context that the model cannot have, ResourceError
    with the numbers when it does not fit.
    """
    limit = (
        check_wanted_len(spec, wanted_len) if wanted_len is not None else native_max_model_len(spec)
    )
    per_token = kv_bytes_per_token(spec, costs.kv_dtype, expands_latents=costs.expands_latents)
    workspace = workspace_bytes(spec)
    needed_len = limit if wanted_len is not None else min(limit, MIN_MODEL_LEN)

    def longest(count: int) -> int:
        num_contexts = 1 if shares_pages else count
        return _longest_context(spec, costs, available_bytes, limit, count, num_contexts)

    if shares_pages:
        num_slots, fitting = choose_slots(num_slots, longest, needed_len)
    else:
        fitting = longest(num_slots)
    states = spec.state_bytes * num_slots
    if fitting < needed_len:
        num_contexts = 1 if shares_pages else num_slots
        kv_bytes = states + needed_len * per_token * num_contexts
        raise _refusal(
            memory_shortage(spec, costs, available_bytes, needed_len, kv_bytes, limit=limit)
        )
    left = available_bytes - costs.weights_bytes - workspace
    num_pages = num_slots * pages_for(fitting)
    if shares_pages:
        left_bytes = left - states - fitting * per_token
        num_pages = choose_pages(num_slots, fitting, left_bytes, per_token)
    return MemoryPlan(
        fitting,
        num_slots,
        num_pages,
        costs.weights_bytes,
        per_token,
        workspace,
        available_bytes,
        states,
    )


def memory_shortage(
    spec: ModelSpec,
    costs: ExecutorCosts,
    available_bytes: int,
    max_model_len: int,
    kv_bytes: int,
    *,
    limit: int,
) -> MemoryShortage:
    """A context of `max_model_len` tokens, whose cache would take `kv_bytes`, in numbers; `limit`
    is the context that is wanted of a remedy."""
    workspace = workspace_bytes(spec)
    choices = {RemedyKind.CONTEXT: costs}
    if costs.has_int8_kv and costs.kv_dtype != "int8":
        choices[RemedyKind.INT8_KV] = replace(costs, kv_dtype="int8")
    if costs.w3_bytes is not None and costs.w3_bytes < costs.weights_bytes:
        choices[RemedyKind.W3] = replace(costs, weights_bytes=costs.w3_bytes)
    found = [
        MemoryRemedy(kind, _longest_context(spec, c, available_bytes, limit), c.weights_bytes)
        for kind, c in choices.items()
    ]
    return MemoryShortage(
        card="",
        needed_bytes=costs.weights_bytes + kv_bytes + workspace,
        free_bytes=available_bytes,
        total_bytes=psutil.virtual_memory().total,
        max_model_len=max_model_len,
        weights_bytes=costs.weights_bytes,
        kv_bytes=kv_bytes,
        workspace_bytes=workspace,
        remedies=choose_remedies(found, min(limit, MIN_MODEL_LEN), limit),
    )


def _longest_context(
    spec: ModelSpec,
    costs: ExecutorCosts,
    available_bytes: int,
    limit: int,
    num_slots: int = 1,
    num_contexts: int = 1,
) -> int:
    """The most tokens, at most `limit`, that fit beside the states of so many slots."""
    per_token = kv_bytes_per_token(spec, costs.kv_dtype, expands_latents=costs.expands_latents)
    left = available_bytes - costs.weights_bytes - workspace_bytes(spec)
    left -= spec.state_bytes * num_slots
    return min(limit, _num_fitting(left, per_token * num_contexts, limit))


def _refusal(shortage: MemoryShortage) -> MemoryShortageError:
    return MemoryShortageError(
        "The model needs {needed} of memory for a context of {needed_len:,} tokens, {weights} "
        "of it for weights; only {available} are free.",
        needed=_gib(shortage.needed_bytes),
        needed_len=shortage.max_model_len,
        weights=_gib(shortage.weights_bytes),
        available=_gib(shortage.free_bytes),
        shortage=shortage,
    )


def fit_table(
    spec: ModelSpec,
    available_bytes: int,
    exact_weights_bytes: int | None = None,
    device: str = "auto",
) -> list[FitRow]:
    """One row per grid that the model could be converted to, from the spec alone.

    `exact_weights_bytes` is the size on the source's own grid as the conversion plan knows it;
    without it there is no such row. `max_context` is 0 where even the weights do not fit.
    """
    executor = executor_class(device)
    sizes = {grid: grid_weights_bytes(spec, bits) for grid, bits in GRID_BITS.items()}
    if exact_weights_bytes is not None:
        sizes = {"exact": exact_weights_bytes, **sizes}
    per_token, small = (
        kv_bytes_per_token(
            spec, executor.kv_dtype_for(wanted), expands_latents=executor.expands_latents
        )
        for wanted in (executor.kv_dtypes[0], "int8")
    )
    return [
        FitRow(
            grid,
            size,
            per_token,
            _max_context(spec, available_bytes - size, per_token),
            _max_context(spec, available_bytes - size, small),
        )
        for grid, size in sizes.items()
    ]


def _max_context(spec: ModelSpec, left_bytes: int, per_token: int) -> int:
    left, limit = left_bytes - workspace_bytes(spec) - spec.state_bytes, native_max_model_len(spec)
    return min(limit, _num_fitting(left, per_token, limit))


def _num_fitting(left_bytes: int, per_token: int, limit: int) -> int:
    """Positions for which there is room: any number where no layer caches them."""
    if per_token == 0:
        return limit if left_bytes >= 0 else 0
    return max(0, left_bytes // per_token)


def check_wanted_len(spec: ModelSpec, wanted_len: int) -> int:
    """The length itself; raises UsageError for a context that the model cannot have."""
    longest = spec.max_position_embeddings
    if spec.rope.rope_type is RopeType.DYNAMIC:
        longest = math.floor(longest * spec.rope.factor)
    if not 2 <= wanted_len <= longest:
        raise UsageError(
            "A context of {wanted_len:,} tokens was asked for; this model can have 2 to "
            "{longest:,}.",
            wanted_len=wanted_len,
            longest=longest,
        )
    return wanted_len


def grid_weights_bytes(spec: ModelSpec, bits: int, kept_bytes: Mapping[str, int] = _NONE) -> int:
    """All weights, were they converted to a plain grid of `bits`; `kept_bytes` has the linears that
    such a conversion leaves on their source's own grid, by name."""
    linears = sum(
        kept_bytes[name] if name in kept_bytes else _grid_bytes(name, shape, bits)
        for name, shape in iter_linears(spec)
    )
    vectors = sum(math.prod(shape) for _, shape in iter_vectors(spec))
    return linears + _NORM_BYTES * vectors


def _grid_bytes(name: str, shape: tuple[int, int], bits: int) -> int:
    quant = None if stays_dense(name) else grid_scheme(name, shape[1], bits)
    return _DENSE_BYTES * math.prod(shape) if quant is None else stored_bytes(quant, shape)


def grid_scheme(
    name: str, in_features: int, bits: int, group_size: int = _GRID_GROUP
) -> QuantScheme | None:
    """How a conversion to a plain grid of `bits` stores a linear that does not stay dense: in the
    largest groups up to `group_size` that divide its columns; None where none does."""
    if name in VOCABULARY_LINEARS:
        bits = max(bits, VOCABULARY_BITS)
    sizes = [size for size in _GROUP_SIZES if size <= group_size and in_features % size == 0]
    return QuantScheme(bits, sizes[0], Scheme.SYM, ScaleDtype.FP16) if sizes else None


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / (1 << 30):.2f} GiB"

"""How much context fits on a card: weights as tiles, cache, workspace, CUDA itself, others. Bytes.

Windows' driver model (WDDM) moves what does not fit to the computer's memory instead of refusing,
and decoding then runs at the bus's speed: a part of the card is left to the desktop.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import QuantScheme
from app.core.cards import Card, CardMemory, read_memory
from app.core.errors import MemoryShortageError
from app.core.memory_shortage import MemoryRemedy, MemoryShortage, RemedyKind
from app.core.sentence import Sentence
from app.engine.executors.block_tables import KV_PAGE_TOKENS, pages_for
from app.engine.executors.cuda.buffers import KvLayout, cached_position
from app.engine.executors.cuda.launcher import DeviceMemory
from app.engine.executors.cuda.measure import (
    linear_bytes,
    measure_buffers,
    vector_bytes,
)
from app.engine.memory_plan import (
    GRID_BITS,
    MIN_MODEL_LEN,
    check_wanted_len,
    grid_scheme,
    native_max_model_len,
)
from app.engine.pool_plan import choose_pages, choose_slots
from app.engine.remedies import choose_remedies
from app.spec.model_spec import ModelSpec
from app.spec.weights import (
    has_bias,
    is_on_card,
    is_router,
    iter_linears,
    iter_vectors,
    stays_dense,
)
from kernels.cuda.pack import TILE_ROWS

# Modules, graphs and the driver's own growth while they run.
_RUNTIME_RESERVE_BYTES = 64 << 20
_WDDM_RESERVE_BYTES = 192 << 20
# A context of CUDA 12 before it can be measured: 150 to 350 MiB on cards of 16 to 132 processors.
_EXPECTED_CONTEXT_BYTES = 256 << 20
_GIB = 1 << 30

LinearSizes = Callable[[str, tuple[int, int]], int]


@dataclass(frozen=True, slots=True)
class VramState:
    """A card before a model: what others take, what CUDA takes in this process, what is kept."""

    name: str
    total_bytes: int
    other_bytes: int
    context_bytes: int
    reserve_bytes: int
    num_multiprocessors: int = 1  # which the workspace of latent attention depends on

    @property
    def available_bytes(self) -> int:
        """For weights, cache and workspace."""
        taken = self.other_bytes + self.context_bytes + self.reserve_bytes
        return max(0, self.total_bytes - taken)


@dataclass(frozen=True, slots=True)
class VramPlan:
    """The context that was chosen, the pool for how many sequences, and the sums behind it."""

    max_model_len: int
    num_slots: int
    num_pages: int
    weights_bytes: int
    kv_bytes: int
    workspace_bytes: int
    kv_bytes_per_token: int
    state: VramState

    @property
    def needed_bytes(self) -> int:
        """What the executor will allocate."""
        return self.weights_bytes + self.kv_bytes + self.workspace_bytes

    @property
    def peak_bytes(self) -> int:
        """What this process will take of the card."""
        return self.needed_bytes + self.state.context_bytes


@dataclass(frozen=True, slots=True)
class KvOptions:
    """How the cache is asked for: one of `CudaExecutor.kv_dtypes`, sequences, tokens of each.

    Sequences have pages for a whole context each, or share a pool as `pool_plan` chooses it.
    """

    kv_dtype: str = "fp16"
    num_slots: int = 1
    wanted_len: int | None = None
    shares_pages: bool = False

    def layout(self, length: int, num_pages: int | None = None) -> KvLayout:
        """With a context of `length`; without `num_pages` the least pool."""
        if num_pages is None and self.shares_pages:
            num_pages = pages_for(length)
        return KvLayout(self.num_slots, length, self.kv_dtype == "int8", num_pages)


def measured_state(card: Card, before: CardMemory | None, after: DeviceMemory) -> VramState:
    """From the card's memory before (NVML) and after this process made its context.

    Without the former, what the context takes counts as others'.
    """
    used = after.total_bytes - after.free_bytes
    other = used if before is None else min(used, before.used_bytes)
    return _state(card, after.total_bytes, other, used - other)


def card_state_beside(now: DeviceMemory, at_start: VramState, own_bytes: int) -> VramState:
    """Later, beside a model that holds `own_bytes`: what was taken since is others'."""
    used = now.total_bytes - now.free_bytes
    return replace(at_start, other_bytes=max(0, used - own_bytes - at_start.context_bytes))


def expected_state(card: Card) -> VramState:
    """Before there is a context: others' use by NVML, none where that cannot tell."""
    memory = read_memory(card)
    other = memory.used_bytes if memory else 0
    return _state(card, card.total_bytes, other, _EXPECTED_CONTEXT_BYTES)


def _state(card: Card, total_bytes: int, other_bytes: int, context_bytes: int) -> VramState:
    reserve = _reserve_bytes()
    return VramState(
        card.name, total_bytes, other_bytes, context_bytes, reserve, card.num_multiprocessors
    )


def stored_weights_bytes(checkpoint: Checkpoint, spec: ModelSpec) -> int:
    """What a checkpoint's weights take on a card."""
    return sum_weights(spec, checkpoint_sizes(checkpoint))


def checkpoint_sizes(checkpoint: Checkpoint) -> LinearSizes:
    """What each of its linears takes on a card."""

    def size(name: str, shape: tuple[int, int]) -> int:
        linear = checkpoint.linear(name)
        return linear_bytes(linear.quant, shape, linear.arrays())

    return size


def sum_weights(spec: ModelSpec, size: LinearSizes) -> int:
    """All weights by what each linear takes; an embedding of its own stays on the host."""
    linears = sum(
        _linear_bytes(spec, name, shape, size)
        for name, shape in iter_linears(spec)
        if is_on_card(spec, name)
    )
    return linears + sum(vector_bytes(math.prod(shape)) for _, shape in iter_vectors(spec))


def _linear_bytes(spec: ModelSpec, name: str, shape: tuple[int, int], size: LinearSizes) -> int:
    """Routers are no tiles but rows of float32 at most; for the expansion of latent attention
    see latent_weights.py."""
    if is_router(name):
        return vector_bytes(math.prod(shape))
    if spec.mla is None or not name.endswith(".kv_b_proj"):
        return size(name, shape)
    mla, num_heads = spec.mla, spec.num_attention_heads
    absorbed = linear_bytes(None, (num_heads * mla.kv_lora_rank, mla.qk_nope_head_dim))
    value_rows = -(-mla.v_head_dim // TILE_ROWS) * TILE_ROWS
    return absorbed + size(name, (num_heads * value_rows, mla.kv_lora_rank))


def scheme_bytes(quant: QuantScheme | None, shape: tuple[int, int], has_bias: bool) -> int:
    """What a linear takes that is still to be made."""
    return linear_bytes(quant, shape, ("bias",) if has_bias else ())


def grid_sizes(spec: ModelSpec, bits: int) -> LinearSizes:
    """What each linear would take on a plain grid of `bits`."""

    def size(name: str, shape: tuple[int, int]) -> int:
        quant = None if stays_dense(name) else grid_scheme(name, shape[1], bits)
        return scheme_bytes(quant, shape, has_bias(spec, name))

    return size


def plan_vram(
    spec: ModelSpec, weights_bytes: int, state: VramState, options: KvOptions
) -> VramPlan:
    """Chooses the context: the wanted one, or as much of the model's own as fits.

    Raises UsageError for a context that the model cannot have, ResourceError with the numbers and
    what would help when it does not fit.
    """
    wanted = options.wanted_len
    limit = native_max_model_len(spec) if wanted is None else check_wanted_len(spec, wanted)
    needed_len = min(limit, MIN_MODEL_LEN) if wanted is None else limit
    if options.shares_pages:

        def longest(count: int) -> int:
            fewer = replace(options, num_slots=count)
            return longest_context(spec, weights_bytes, state, fewer, limit)

        num_slots, fitting = choose_slots(options.num_slots, longest, needed_len)
        options = replace(options, num_slots=num_slots)
    else:
        fitting = longest_context(spec, weights_bytes, state, options, limit)
    if fitting < needed_len:
        remedy = _remedy(spec, weights_bytes, state, options, needed_len, fitting)
        shortage = vram_shortage(spec, weights_bytes, state, options, needed_len, limit)
        raise MemoryShortageError(_refusal(shortage, state, remedy), shortage=shortage)
    layout = _final_layout(spec, weights_bytes, state, options, fitting)
    sizes = measure_buffers(spec, layout, state.num_multiprocessors)
    return VramPlan(
        fitting,
        options.num_slots,
        layout.num_positions // KV_PAGE_TOKENS,
        weights_bytes,
        sizes.kv_bytes,
        sizes.workspace_bytes,
        card_kv_bytes_per_token(spec, options.kv_dtype),
        state,
    )


def _final_layout(
    spec: ModelSpec, weights_bytes: int, state: VramState, options: KvOptions, length: int
) -> KvLayout:
    """Of the chosen context, with all pages that the sequences get."""
    layout = options.layout(length)
    if not options.shares_pages:
        return layout
    token_bytes = card_kv_bytes_per_token(spec, options.kv_dtype)
    left = state.available_bytes - weights_bytes - _buffers_bytes(spec, layout, state)
    num_pages = choose_pages(options.num_slots, length, left, token_bytes)
    return options.layout(length, num_pages)


def card_kv_bytes_per_token(spec: ModelSpec, kv_dtype: str) -> int:
    """What all layers keep of one position; of latent attention the latent vector."""
    return spec.num_cached_layers * cached_position(spec).num_bytes(kv_dtype == "int8")


def longest_context(
    spec: ModelSpec, weights_bytes: int, state: VramState, options: KvOptions, limit: int
) -> int:
    """The most tokens, at most `limit`, whose cache and workspace fit beside weights; 0 if none."""
    room, low, high = state.available_bytes - weights_bytes, 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if _buffers_bytes(spec, options.layout(middle), state) <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _buffers_bytes(spec: ModelSpec, layout: KvLayout, state: VramState) -> int:
    sizes = measure_buffers(spec, layout, state.num_multiprocessors)
    return sizes.kv_bytes + sizes.workspace_bytes


def vram_shortage(
    spec: ModelSpec,
    weights_bytes: int,
    state: VramState,
    options: KvOptions,
    needed_len: int,
    limit: int,
) -> MemoryShortage:
    """A context of `needed_len` tokens in numbers; `limit` is what is wanted of a remedy."""
    sizes = measure_buffers(spec, options.layout(needed_len), state.num_multiprocessors)
    alone = replace(options, num_slots=1) if options.shares_pages else options
    w3_bytes = sum_weights(spec, grid_sizes(spec, GRID_BITS["w3"]))
    choices = {RemedyKind.CONTEXT: (weights_bytes, alone)}
    if options.kv_dtype != "int8":
        choices[RemedyKind.INT8_KV] = weights_bytes, replace(alone, kv_dtype="int8")
    if w3_bytes < weights_bytes:
        choices[RemedyKind.W3] = w3_bytes, alone
    found = [
        MemoryRemedy(kind, longest_context(spec, size, state, kv, limit), size)
        for kind, (size, kv) in choices.items()
    ]
    return MemoryShortage(
        card=state.name,
        needed_bytes=weights_bytes + sizes.kv_bytes + sizes.workspace_bytes,
        free_bytes=state.available_bytes,
        total_bytes=state.total_bytes,
        max_model_len=needed_len,
        weights_bytes=weights_bytes,
        kv_bytes=sizes.kv_bytes,
        workspace_bytes=sizes.workspace_bytes,
        remedies=choose_remedies(found, min(limit, MIN_MODEL_LEN), limit),
    )


def _refusal(shortage: MemoryShortage, state: VramState, remedy: str) -> str:
    return Sentence(
        "The model needs {needed} of the {card} for a context of {needed_len:,} tokens (weights "
        "{weights}, KV cache {kv}, workspace {workspace}); of its {total}, {available} can be "
        "used: other programs hold {others}, CUDA {context}. {remedy}",
        needed=_gib(shortage.needed_bytes),
        card=state.name,
        needed_len=shortage.max_model_len,
        weights=_gib(shortage.weights_bytes),
        kv=_gib(shortage.kv_bytes),
        workspace=_gib(shortage.workspace_bytes),
        total=_gib(state.total_bytes),
        available=_gib(state.available_bytes),
        others=_gib(state.other_bytes),
        context=_gib(state.context_bytes),
        remedy=remedy,
    )


def _remedy(
    spec: ModelSpec,
    weights_bytes: int,
    state: VramState,
    options: KvOptions,
    needed_len: int,
    fitting: int,
) -> str:
    """What would fit, nearest first."""
    small, with_int8 = replace(options, kv_dtype="int8"), 0
    if options.kv_dtype != "int8":
        with_int8 = longest_context(spec, weights_bytes, state, small, needed_len)
    if with_int8 >= needed_len:
        return Sentence("With an int8 KV cache it fits.")
    if fitting >= MIN_MODEL_LEN:
        if with_int8 <= fitting:
            return Sentence("A context of {fitting:,} tokens fits.", fitting=fitting)
        return Sentence(
            "A context of {fitting:,} tokens fits, with an int8 KV cache {with_int8:,}.",
            fitting=fitting,
            with_int8=with_int8,
        )
    return Sentence(
        "A conversion to 3 bits (w3, or w3w4 with a budget) takes less; so does a smaller model."
    )


def _reserve_bytes() -> int:
    is_windows = sys.platform == "win32"
    return _RUNTIME_RESERVE_BYTES + (_WDDM_RESERVE_BYTES if is_windows else 0)


def _gib(num_bytes: int) -> str:
    return f"{num_bytes / _GIB:.2f} GiB"

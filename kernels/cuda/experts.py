"""Arguments and launches of router.cu and experts.cu, as data."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kernels.cuda.gemv import MAX_TOKENS

ROUTER_THREADS = 256
ROUTER_ROWS = 8  # of the router a block
SUM_THREADS = 256
MAX_CHOSEN = 32  # experts of a token, and groups of experts
MAX_EXPERTS = 512
_FLOAT_BYTES = 4


class RouterWeight(IntEnum):
    """How the router's matrix is stored."""

    FLOAT32 = 0
    FLOAT16 = 1
    BFLOAT16 = 2


# RouterArgs of router.cu.
ROUTER_ARGS = np.dtype(
    [
        *((name, np.uintp) for name in (
            "x", "norm_weight", "norm_bias", "weight", "bias", "correction", "logits",
            "visit_matrices", "visit_pairs", "chosen", "pair_weights", "shared_weights",
        )),
        *((name, np.int32) for name in (
            "num_tokens", "hidden_size", "num_experts", "has_shared_gate", "top_k", "max_visits",
            "input", "weight_type", "scoring", "is_normed", "num_groups", "topk_groups",
            "group_scoring",
        )),
        *((name, np.float32) for name in ("eps", "scaling_factor")),
    ],
    align=True,
)  # fmt: skip

# ExpertSumArgs of experts.cu.
EXPERT_SUM_ARGS = np.dtype(
    [
        *((name, np.uintp) for name in ("outputs", "weights", "shared", "shared_weights", "out")),
        *((name, np.int32) for name in ("size", "top_k", "is_added")),
        ("multiplier", np.float32),
    ],
    align=True,
)


def score_shared_bytes(hidden_size: int) -> int:
    """Dynamic shared memory of a block of `score_experts`: a token."""
    return _FLOAT_BYTES * hidden_size


def choice_shared_bytes(num_experts: int) -> int:
    """Of `choose_experts`: two values an expert for each warp."""
    return _FLOAT_BYTES * 2 * MAX_TOKENS * num_experts


def max_visits(num_tokens: int, top_k: int, num_experts: int) -> int:
    """The most visits to experts that some tokens make: each of up to eight pairs."""
    num_pairs = num_tokens * top_k
    if num_tokens <= MAX_TOKENS:
        return min(num_experts, num_pairs)
    # One that is not full for each expert, beside the full ones.
    return min(num_pairs, num_experts + num_pairs // MAX_TOKENS)

"""Arguments and launches of sampling.cu, and the state of a decode step, as data."""

from __future__ import annotations

import numpy as np

MAX_ROWS = 8
RING_ENTRIES = 64
SAMPLING_THREADS = 256
CHUNK_TOKENS = 128
HISTOGRAM_BINS = 2048
NUM_LEVELS = 3
TOP_K, TOP_P = 0, 1  # phases

# RowState of state.cuh.
ROW_STATE = np.dtype(
    [
        *((name, np.uint64) for name in ("seed", "step")),
        *((name, np.float64) for name in (
            "temperature", "inverse_temperature", "top_p", "repetition_penalty",
            "inverse_repetition_penalty", "presence_penalty", "frequency_penalty",
        )),
        ("least_weight", np.uint64),
        ("sequence", np.uint32),
        *((name, np.int32) for name in ("top_k", "counts_tokens", "unused")),
    ],
    align=True,
)  # fmt: skip

# StepState of state.cuh.
STEP_STATE = np.dtype(
    [
        *((name, np.uintp) for name in (
            "rows", "token_ids", "positions", "slots", "is_seen", "num_output", "ring",
        )),
        ("vocab_size", np.int32),
    ],
    align=True,
)  # fmt: skip

# Selection of sampling.cu.
SELECTION = np.dtype(
    [
        *((name, np.uint64) for name in ("best", "remaining")),
        *((name, np.uint32) for name in ("floor_key", "tie_limit", "prefix", "arrived")),
    ],
    align=True,
)

# SamplingArgs of sampling.cu.
SAMPLING_ARGS = np.dtype(
    [
        ("state", STEP_STATE),
        *((name, np.uintp) for name in (
            "logits", "block_max", "block_argmax", "selections", "histograms", "chunk_weights",
            "chunk_ties",
        )),
        *((name, np.int32) for name in ("num_blocks", "num_chunks", "phase", "level")),
    ],
    align=True,
)  # fmt: skip


def num_chunks(vocab_size: int) -> int:
    """Chunks of a row's tokens, each of which has a weight of its own."""
    return -(-vocab_size // CHUNK_TOKENS)


def blocks_per_row(vocab_size: int, num_multiprocessors: int) -> int:
    """Blocks that share a row: at least four tokens a thread, at most two blocks a multiprocessor.

    Every block adds a histogram to the row's, so that more of them would not be faster.
    """
    tokens = 4 * SAMPLING_THREADS
    return max(1, min(-(-vocab_size // tokens), 2 * num_multiprocessors))

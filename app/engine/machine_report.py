"""What this computer is, and which sizes of models it will run well: by the planners themselves.

The sizes are those of one widespread family, by its published configurations. How fast one answers
is bounded by reading all of its weights for each token; of the bandwidth a decoder gets about half.
"""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from app.core.cards import Card, read_bandwidth, read_memory
from app.core.device import describe_machine, find_usable_card
from app.core.errors import AppError
from app.core.machine_events import MachineDescribed, ModelSize
from app.core.nvml import read_driver_version
from app.core.room import existing_part
from app.engine.fit import fit_machine
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from kernels.cpu.loader import instruction_sets

_GRID = "w4"
_SHARE_OF_BANDWIDTH = 0.5
_PROBE_BYTES = 32 << 20  # of each thread: beyond the caches
_PROBE_ROUNDS = 3
_MAX_PROBE_THREADS = 4
# hidden_size, num_hidden_layers, num_attention_heads, num_key_value_heads, intermediate_size,
# vocab_size, tie_word_embeddings: config.json of Qwen2.5 in these sizes.
_SIZES = {
    "0.5B": (896, 24, 14, 2, 4864, 151_936, True),
    "1.5B": (1536, 28, 12, 2, 8960, 151_936, True),
    "3B": (2048, 36, 16, 2, 11_008, 151_936, True),
    "7B": (3584, 28, 28, 4, 18_944, 152_064, False),
    "14B": (5120, 48, 40, 8, 13_824, 152_064, False),
    "32B": (5120, 64, 40, 8, 27_648, 152_064, False),
    "72B": (8192, 80, 64, 8, 29_568, 152_064, False),
}


def describe(library_dir: Path) -> MachineDescribed:
    """Takes about a quarter of a second; memory is measured meanwhile."""
    card, problem = _find_card()
    memory = read_memory(card) if card is not None else None
    bandwidths = {"cpu": measure_bandwidth(), "cuda": read_bandwidth(card) if card else None}
    return MachineDescribed(
        machine=describe_machine(),
        instruction_set=instruction_sets()[0],
        card=card,
        card_problem=problem,
        card_free_bytes=memory.free_bytes if memory else 0,
        driver=read_driver_version(),
        disk_free_bytes=shutil.disk_usage(existing_part(library_dir)).free,
        sizes=tuple(_describe_size(name, bandwidths) for name in _SIZES),
    )


def spec_of_size(name: str) -> ModelSpec:
    """A model of this size, such as `3B`."""
    hidden, layers, heads, kv_heads, inner, vocab, is_tied = _SIZES[name]
    return create_spec(
        {
            "architectures": ["Qwen2ForCausalLM"],
            "model_type": "qwen2",
            "hidden_size": hidden,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "num_key_value_heads": kv_heads,
            "intermediate_size": inner,
            "vocab_size": vocab,
            "tie_word_embeddings": is_tied,
            "max_position_embeddings": 32_768,
            "rms_norm_eps": 1e-6,
            "rope_theta": 1_000_000.0,
            "hidden_act": "silu",
            "use_sliding_window": False,
            "bos_token_id": 151_643,
            "eos_token_id": 151_645,
        }
    )


def measure_bandwidth() -> float:
    """Bytes per second that the processor's threads read and write together, by copying."""
    import psutil

    count = max(1, min(_MAX_PROBE_THREADS, psutil.cpu_count(logical=False) or 1))
    targets, sources = ([np.ones(_PROBE_BYTES, np.uint8) for _ in range(count)] for _ in range(2))
    best_s = float("inf")
    with ThreadPoolExecutor(count) as pool:
        for _ in range(_PROBE_ROUNDS):
            start_s = time.perf_counter()
            list(pool.map(np.copyto, targets, sources))
            best_s = min(best_s, time.perf_counter() - start_s)
    return 2 * count * _PROBE_BYTES / best_s


def _find_card() -> tuple[Card | None, str]:
    try:
        return find_usable_card(), ""
    except AppError as error:
        return None, error.message


def _describe_size(name: str, bandwidths: dict[str, float | None]) -> ModelSize:
    fit = fit_machine(spec_of_size(name), None)
    row = next(row for row in fit.rows if row.grid == _GRID)
    bandwidth = bandwidths[fit.device]
    tok_s = _SHARE_OF_BANDWIDTH * bandwidth / row.weights_bytes if bandwidth else None
    return ModelSize(name, fit.device, max(0, row.max_context), tok_s)

"""prefill_attention.cu against float64: chunks that start anywhere, pages, windows, caps, sinks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.cuda.attention import (
    ATTENTION_THREADS,
    CHUNK_ATTENTION_ARGS,
    CHUNK_QUERIES,
)
from kernels.cuda.build import SOURCE_DIR
from tests.kernels.cuda_attention import Cache, Case, Floats, Halfs, expected, random_halfs
from tests.kernels.cuda_host import HostModule, KernelFault, Schedule, build_host_module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

SOURCE = SOURCE_DIR / "prefill_attention.cu"


def chunk(start: int, count: int, num_padding: int = 0, **options: Any) -> Case:
    """Rows at `start` and on; padding repeats the last one."""
    last = start + count - 1
    positions = (*range(start, start + count), *[last] * num_padding)
    sizes = {"head_dim": 32, "num_heads": 2, "num_kv_heads": 1, **options}
    return Case(positions=positions, is_chunk=True, **sizes)


CASES = {
    "one row": chunk(5, 1),
    "the first": chunk(0, 30),
    "two blocks": chunk(37, 70),
    "padded": chunk(3, 20, num_padding=12),
    "over a page": chunk(230, 40),
    "pages apart": chunk(520, 9),
    "heads share": chunk(20, 16, num_heads=6, num_kv_heads=2),
    "24 columns": chunk(20, 17, head_dim=24),
    "80 columns": chunk(60, 17, head_dim=80),
    "128 columns": chunk(60, 17, head_dim=128),
    "256 columns": chunk(60, 17, head_dim=256, num_heads=1),
    "window": chunk(200, 70, window=50),
    "window of one": chunk(90, 10, window=1),
    "window over a page": chunk(260, 33, window=100),
    "softcap": chunk(64, 20, softcap=5.0),
    "sinks": chunk(0, 20, has_sinks=True),
    "int8": chunk(250, 20, int8_kv=True, head_dim=64),
    "int8, window": chunk(130, 20, int8_kv=True, head_dim=128, window=70),
}


def create(case: Case) -> tuple[Cache, Halfs, Any]:
    """A filled cache, queries and sinks."""
    rng, cache = np.random.default_rng(1), Cache(case)
    cache.fill()
    queries = random_halfs(rng, len(case.positions), case.num_heads, case.head_dim)
    return cache, queries, rng.standard_normal(case.num_heads).astype(np.float32)


def attend(
    case: Case, cache: Cache, queries: Halfs, sinks: Any, source: Path = SOURCE, **options: Any
) -> Halfs:
    rows, variant = len(case.positions), case.variant
    fields = {
        "queries": queries,
        "out": np.full_like(queries, np.nan),
        "slots": case.slots,
        "positions": np.array(case.positions, np.int32),
        "num_rows": rows,
        "num_heads": case.num_heads,
        "window": case.window,
        "scale": case.head_dim**-0.5,
        "softcap": case.softcap,
        **({"sinks": sinks} if case.has_sinks else {}),
        **cache.fields,
    }
    module: HostModule = build_host_module(source, variant.chunk_source.macros)
    module.launch_struct(
        "attend_chunk",
        (-(-rows // CHUNK_QUERIES), case.num_heads),
        (ATTENTION_THREADS,),
        CHUNK_ATTENTION_ARGS,
        fields,
        shared_bytes=variant.chunk_shared_bytes,
        **options,
    )
    return fields["out"]


def error(found: Halfs, wanted: Floats) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


@pytest.mark.parametrize("name", CASES)
def test_attention_equals_float64(name: str) -> None:
    case = CASES[name]
    cache, queries, sinks = create(case)
    found = attend(case, cache, queries, sinks)
    assert error(found, expected(case, cache, queries, sinks)) <= 1e-3


@pytest.mark.parametrize("schedule", list(Schedule))
@pytest.mark.parametrize("name", ["over a page", "int8, window"])
def test_the_order_of_threads_changes_nothing(name: str, schedule: Schedule) -> None:
    case = CASES[name]
    cache, queries, sinks = create(case)
    again = attend(case, cache, queries, sinks, schedule=schedule, reverse_blocks=True)
    assert np.array_equal(again, attend(case, cache, queries, sinks))


FAULTS = {
    "no wait for keys": ("wait_for_copies<1>();\n        __syncthreads();  // the keys", "//"),
    "no barrier behind keys": ("__syncthreads();  // all have read the keys", "//"),
    "a mask that sees one key more": ("key > position ||", "key > position + 1 ||"),
    "the next page": ("view.kv_head, first)", "view.kv_head, first + kPagePositions)"),
    "keys that were never written": ("key < num_keys &&", "true &&"),
    "no wait for values": ("wait_for_copies<1>();\n        __syncthreads();  // the values", "//"),
    "no barrier before keys": ("__syncthreads();  // the keys", "//"),
    "no barrier before values": ("__syncthreads();  // the values", "//"),
    "no barrier behind values": ("__syncthreads();  // all have read the values", "//"),
    "a mask that sees one key less": ("key > position ||", "key >= position ||"),
    "a window of one key more": ("key <= position - window", "key < position - window"),
}


# Each is compiled anew: the default suite plants the first of them.
@pytest.mark.parametrize(
    "name",
    [
        "none",
        *list(FAULTS)[:5],
        *(pytest.param(n, marks=pytest.mark.slow) for n in list(FAULTS)[5:]),
    ],
)
def test_a_planted_fault_shows(name: str, tmp_path: Path) -> None:
    text, fault = SOURCE.read_text("utf-8"), FAULTS.get(name)
    assert fault is None or text.count(fault[0]) == 1
    (tmp_path / SOURCE.name).write_text(text.replace(*fault) if fault else text, "utf-8")
    case = chunk(240, 30, window=150)
    cache, queries, sinks = create(case)
    wanted, errors = expected(case, cache, queries, sinks), []
    for schedule in Schedule:
        try:
            found = attend(case, cache, queries, sinks, tmp_path / SOURCE.name, schedule=schedule)
        except KernelFault:
            errors.append(np.nan)
        else:
            errors.append(error(found, wanted))
    assert all(each <= 1e-3 for each in errors) is (fault is None)

"""MB of GGUF source converted exactly a second on one core, beside those who do half the work.

In one process and run, on the same bytes, the best of several rounds of processor time: our exact
conversion (read, take apart, verify a sample), `gguf.quants.dequantize` alone, and, where
llama-cpp-python is at hand, llama.cpp's requantization of the starter model from Q4_K_M to Q4_0.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import gguf
from gguf.constants import GGMLQuantizationType

from app.converter.grids import Grid, convert_linear, plan_linear
from app.converter.sources.base import SourceLinear
from app.converter.sources.detect import open_source
from app.converter.verify import verify_exact
from benchmarks.measure import Figures, print_json
from benchmarks.sparse_models import write_sparse_gguf
from benchmarks.starter_sources import llama_cpp_python, quantize_with_llama_cpp, write_gguf

_KINDS = ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q4_0", "Q8_0")
_TENSOR = "layers.0.mlp.up_proj"  # 11,008 x 4,096
_NUM_ROUNDS = 5


def measure() -> dict[str, Figures]:
    """Of each type: `exact_mb_s`, `gguf_dequantize_mb_s`; llama.cpp's `requantize_mb_s`."""
    with tempfile.TemporaryDirectory(prefix="deepinfer-bench-") as folder:
        figures = {kind: _measure_kind(kind, Path(folder) / f"{kind}.gguf") for kind in _KINDS}
        if llama_cpp_python():
            figures["llama.cpp"] = {"requantize_mb_s": _measure_llama_cpp(Path(folder))}
    return figures


def _measure_kind(kind: str, path: Path) -> Figures:
    write_sparse_gguf(path, GGMLQuantizationType[kind], num_hidden_layers=1, vocab_size=256)
    stored = next(t for t in gguf.GGUFReader(path).tensors if t.name == "blk.0.ffn_up.weight")
    with closing(open_source(path)) as source:
        linears = [linear for part in source.parts() for linear in part.linears]
        linear = next(linear for linear in linears if linear.name == _TENSOR)
        num_bytes = linear.source_bytes
        exact_s = _best_s(lambda: _convert(linear))
    decode_s = _best_s(lambda: gguf.quants.dequantize(stored.data, stored.tensor_type))
    return {
        "exact_mb_s": num_bytes / exact_s / 1e6,
        "gguf_dequantize_mb_s": num_bytes / decode_s / 1e6,
    }


def _convert(linear: SourceLinear) -> None:
    converted = verify_exact(linear, convert_linear(linear, plan_linear(linear, Grid.EXACT)))
    assert converted.rel_err == 0


def _best_s(work: Callable[[], object]) -> float:
    """Processor time, because other work on the machine is not this one's."""
    times = []
    for _ in range(_NUM_ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def _measure_llama_cpp(folder: Path) -> float:
    dense = write_gguf(folder / "dense.gguf", GGMLQuantizationType.F32)
    mixed, target = folder / "mixed.gguf", folder / "target.gguf"
    quantize_with_llama_cpp(dense, mixed, "Q4_K_M")
    before = _children_s()
    quantize_with_llama_cpp(mixed, target, "Q4_0")
    return mixed.stat().st_size / (_children_s() - before) / 1e6


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    print_json(measure())

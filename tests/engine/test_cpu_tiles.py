"""Codes of six bits stored with eight: what the plans say is what the library counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf.constants import GGMLQuantizationType

from app.checkpoint.reader import Checkpoint
from app.converter.expected_memory import expect_memory
from app.converter.pipeline import convert, plan_conversion
from app.converter.plan import Options
from app.engine.executors.cpu import CpuExecutor
from app.spec.registry import create_spec
from benchmarks.random_gguf import write_random_gguf

SIZES = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 512,
}


def measure(checkpoint: Checkpoint, activations: str) -> tuple[int, int]:
    """Planned and counted bytes of the weights."""
    spec = create_spec(checkpoint.config)
    executor = CpuExecutor(checkpoint, spec, 128, activations=activations)
    counted = executor.memory_use().weights_bytes
    executor.close()
    return CpuExecutor.plan_weights_bytes(checkpoint, spec, activations), counted


@pytest.mark.parametrize("kind", [GGMLQuantizationType.Q6_K, GGMLQuantizationType.Q4_K])
def test_six_bits_are_planned_as_they_are_counted(
    kind: GGMLQuantizationType, tmp_path: Path
) -> None:
    """The difference of both kinds of activations to the byte: no header on disk is in it."""
    gguf = write_random_gguf(tmp_path / "model.gguf", kind, **SIZES)
    plan = plan_conversion(gguf, tmp_path / "out", Options())
    convert(gguf, tmp_path / "out")
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        spec = create_spec(checkpoint.config)
        planned, counted = measure(checkpoint, "int8")
        planned_fp32, counted_fp32 = measure(checkpoint, "fp32")
    assert planned_fp32 == checkpoint.total_bytes
    assert planned_fp32 - planned == counted_fp32 - counted > 0
    expected = plan.memory_bytes - expect_memory(spec, 0).num_bytes
    assert expected == pytest.approx(counted, rel=0.02)

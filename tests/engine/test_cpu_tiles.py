"""Codes of six bits stored with eight: what the plans say is what the library counts, and threads
change no bit of what they give."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from gguf.constants import GGMLQuantizationType

from app.checkpoint.reader import Checkpoint
from app.cli.main import main
from app.converter.expected_memory import expect_memory
from app.converter.pipeline import convert, plan_conversion
from app.converter.plan import Options
from app.engine.executors.base import LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.tokenizer import Tokenizer
from app.spec.registry import create_spec
from benchmarks.random_gguf import write_random_gguf
from benchmarks.starter_sources import write_gguf
from tests.quantized_folders import FIXTURES

SIZES = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 512,
}

# Written by llama.cpp itself; a mix of Q4_K and Q6_K, and six bits alone.
LLAMA_CPP_FILES = ("Q4_K_M", "Q5_0", "MXFP4")
NUM_PROMPT, NUM_GENERATED = 37, 24


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


@pytest.mark.parametrize("kind", [GGMLQuantizationType.Q6_K, GGMLQuantizationType.Q4_K])
def test_fit_prices_six_bits_as_they_are_counted(
    kind: GGMLQuantizationType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the file and of the folder that it becomes."""
    gguf = write_random_gguf(tmp_path / "model.gguf", kind, **SIZES)
    convert(gguf, tmp_path / "out")
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        planned, counted = measure(checkpoint, "int8")
    assert exact_row(tmp_path / "out", capsys) == planned
    # Blocks of tiles are padded, which is not planned.
    assert exact_row(gguf, capsys) == pytest.approx(counted, rel=0.015)


def exact_row(source: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Bytes of the weights in the first row of `inspect`."""
    assert main(["inspect", str(source), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["fit"][0]
    assert row["grid"] == "exact"
    return int(row["weights_bytes"])


def reply_to(
    path: Path, prompt: npt.NDArray[np.int32], num_threads: int
) -> tuple[bytes, list[int]]:
    """Bits of all logits of a prompt in two pieces and a greedy reply; the reply's tokens."""
    with Checkpoint.open(path) as checkpoint:
        spec = create_spec(checkpoint.config)
        executor = CpuExecutor(checkpoint, spec, 256, num_threads=num_threads, activations="int8")
    rows: list[npt.NDArray[np.float32]] = []
    tokens: list[int] = []
    position = 0
    pieces = [prompt[: len(prompt) // 3], prompt[len(prompt) // 3 :]]
    while len(tokens) < NUM_GENERATED:
        piece = pieces.pop(0) if pieces else np.array(tokens[-1:], np.int32)
        (logits,) = executor.step([SequenceChunk(0, position, piece, LogitsWanted.ALL)])
        position += len(piece)
        rows.append(logits)
        if not pieces:
            tokens.append(int(logits[-1].argmax()))
    executor.close()
    return np.concatenate(rows).tobytes(), tokens


def saves_bytes(path: Path) -> bool:
    """Whether six bits lie there."""
    with Checkpoint.open(path) as checkpoint:
        return measure(checkpoint, "int8")[1] < measure(checkpoint, "fp32")[1]


@pytest.mark.parametrize("name", [*LLAMA_CPP_FILES, "Q6_K"])
def test_thread_count_changes_no_bit_of_six_bit_products(name: str, tmp_path: Path) -> None:
    if name in LLAMA_CPP_FILES:
        gguf = FIXTURES / "llama_cpp" / f"{name}.gguf"
    else:
        gguf = write_random_gguf(tmp_path / "model.gguf", GGMLQuantizationType.Q6_K, **SIZES)
    convert(gguf, tmp_path / "out")
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        vocab_size = create_spec(checkpoint.config).vocab_size
    rng = np.random.default_rng(0)
    prompt = rng.integers(0, vocab_size, NUM_PROMPT, dtype=np.int32)
    assert saves_bytes(tmp_path / "out")
    alone = reply_to(tmp_path / "out", prompt, 1)
    assert np.isfinite(np.frombuffer(alone[0], np.float32)).all()
    for num_threads in (2, 3):
        assert reply_to(tmp_path / "out", prompt, num_threads) == alone


@pytest.mark.slow  # the starter model is encoded anew
def test_thread_count_changes_no_letter_of_the_starter_models_text(tmp_path: Path) -> None:
    convert(write_gguf(tmp_path / "model.gguf", GGMLQuantizationType.Q5_0), tmp_path / "out")
    tokenizer = Tokenizer.from_dir(tmp_path / "out")
    prompt = np.array(tokenizer.encode("The capital of France is"), np.int32)
    assert saves_bytes(tmp_path / "out")
    alone = reply_to(tmp_path / "out", prompt, 1)
    assert "Paris" in tokenizer.decode(alone[1])
    for num_threads in (2, 3):
        assert reply_to(tmp_path / "out", prompt, num_threads) == alone

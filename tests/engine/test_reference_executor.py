"""The reference executor against transformers, float32, on tiny random models of every family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.core.errors import ContextLengthError, EngineError
from app.engine.executors.base import LogitsWanted, SequenceChunk
from app.engine.executors.reference import ReferenceExecutor
from app.spec.registry import create_spec
from tests.tiny_models import create_tiny_model, write_native

TOLERANCE = 1e-4
NUM_TOKENS = 60
LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 24,  # the tests' 60 positions go beyond it
}
YARN_ROPE = {
    "rope_type": "yarn",
    "rope_theta": 1000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 32,
}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 1000.0,
    "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5],
    "long_factor": [1.5, 2.0, 3.0, 4.0, 6.0, 8.0],
    "original_max_position_embeddings": 32,
    "factor": 8.0,
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "llama_multi_head": ("llama", {"num_key_value_heads": 4}),
    "llama_multi_query": ("llama", {"num_key_value_heads": 1}),
    "llama_tied": ("llama", {"tie_word_embeddings": True}),
    "llama_biases": ("llama", {"attention_bias": True, "mlp_bias": True}),
    "llama_wide_heads": ("llama", {"head_dim": 20}),
    "llama_llama3_rope": ("llama", {"rope_parameters": LLAMA3_ROPE}),
    "llama_yarn_rope": ("llama", {"rope_parameters": YARN_ROPE}),
    "llama_linear_rope": (
        "llama",
        {"rope_parameters": {"rope_type": "linear", "rope_theta": 1000.0, "factor": 4.0}},
    ),
    "qwen2": ("qwen2", {}),
    "qwen2_tied": ("qwen2", {"tie_word_embeddings": True}),
    "qwen2_sliding": (
        "qwen2",
        {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 1},
    ),
    "qwen3": ("qwen3", {"head_dim": 32}),
    "qwen3_biases_tied": (
        "qwen3",
        {"head_dim": 8, "attention_bias": True, "tie_word_embeddings": True},
    ),
    "mistral_sliding": ("mistral", {"sliding_window": 9, "head_dim": 16}),
    "mistral_full": ("mistral", {"sliding_window": None}),
}


@pytest.fixture
def token_ids() -> npt.NDArray[np.int32]:
    """A prompt of random tokens."""
    return np.random.default_rng(5).integers(3, 97, NUM_TOKENS).astype(np.int32)


def expected_logits(model: Any, token_ids: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
    """transformers' logits of every position [n, vocab_size], in one pass."""
    import torch

    with torch.no_grad():
        return np.asarray(model(torch.from_numpy(token_ids[None].astype(np.int64))).logits[0])


def create_reference(
    directory: Path, max_model_len: int = 256, num_slots: int = 1
) -> ReferenceExecutor:
    """The executor of a native folder; weights are copied, so the folder is closed at once."""
    with Checkpoint.open(directory) as checkpoint:
        spec = create_spec(checkpoint.config)
        return ReferenceExecutor(checkpoint, spec, max_model_len, num_slots)


def run(
    executor: ReferenceExecutor, token_ids: npt.NDArray[np.int32], size: int, slot: int = 0
) -> npt.NDArray[np.float32]:
    """All logits of a prompt that is run in pieces of `size` tokens."""
    pieces = [
        executor.step([SequenceChunk(slot, i, token_ids[i : i + size], LogitsWanted.ALL)])[0]
        for i in range(0, len(token_ids), size)
    ]
    return np.concatenate(pieces)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [NUM_TOKENS, 13, 1], ids=["whole", "chunked", "decode"])
def test_logits_equal_transformers(
    case: str, size: int, token_ids: npt.NDArray[np.int32], tmp_path: Path
) -> None:
    model_type, changes = CASES[case]
    model = create_tiny_model(model_type, **changes)
    executor = create_reference(write_native(model, tmp_path / "model"))
    got = run(executor, token_ids, size)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected_logits(model, token_ids), rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("length", [20, NUM_TOKENS], ids=["short", "long"])
@pytest.mark.parametrize("rope_type", ["dynamic", "longrope"])
def test_length_dependent_ropes_follow_the_planned_context(
    rope_type: str, length: int, token_ids: npt.NDArray[np.int32], tmp_path: Path
) -> None:
    """At the planned length itself they are transformers' own, below and beyond the trained 32."""
    dynamic = {"rope_type": "dynamic", "rope_theta": 1000.0, "factor": 4.0}
    rope = LONGROPE if rope_type == "longrope" else dynamic
    trained = {"max_position_embeddings": 256 if rope_type == "longrope" else 32}
    model = create_tiny_model("llama", rope_parameters=rope, **trained)
    executor = create_reference(write_native(model, tmp_path / "model"), max_model_len=length)
    want = expected_logits(model, token_ids[:length])
    np.testing.assert_allclose(run(executor, token_ids[:length], 13), want, rtol=0, atol=TOLERANCE)


def test_both_rope_spellings_give_the_same_logits(
    token_ids: npt.NDArray[np.int32], tmp_path: Path
) -> None:
    model = create_tiny_model("llama", rope_parameters=LLAMA3_ROPE)
    old = model.config.to_dict()
    rope = old.pop("rope_parameters")
    old["rope_theta"] = rope.pop("rope_theta")
    old["rope_scaling"] = {**rope, "type": rope["rope_type"]}
    executor = create_reference(write_native(model, tmp_path / "old", old))
    got = run(executor, token_ids, NUM_TOKENS)
    np.testing.assert_allclose(got, expected_logits(model, token_ids), rtol=0, atol=TOLERANCE)


@pytest.fixture(scope="module")
def llama_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny native Llama."""
    return write_native(create_tiny_model("llama"), tmp_path_factory.mktemp("llama") / "model")


def test_slots_do_not_see_each_other(llama_dir: Path, token_ids: npt.NDArray[np.int32]) -> None:
    alone = run(create_reference(llama_dir), token_ids, NUM_TOKENS)
    executor = create_reference(llama_dir, num_slots=2)
    other = token_ids[::-1].copy()
    for i in range(0, NUM_TOKENS, 20):
        chunks = [
            SequenceChunk(1, i, other[i : i + 20], LogitsWanted.NONE),
            SequenceChunk(0, i, token_ids[i : i + 20], LogitsWanted.ALL),
        ]
        nothing, got = executor.step(chunks)
        assert nothing.shape == (0, 97)
        np.testing.assert_allclose(got, alone[i : i + 20], rtol=0, atol=TOLERANCE)


def test_a_step_overwrites_everything_from_its_start(
    llama_dir: Path, token_ids: npt.NDArray[np.int32]
) -> None:
    executor = create_reference(llama_dir)
    run(executor, token_ids[::-1].copy(), NUM_TOKENS)
    executor.step([SequenceChunk(0, 0, token_ids[:30])])
    (got,) = executor.step([SequenceChunk(0, 30, token_ids[30:31])])
    alone = run(create_reference(llama_dir), token_ids[:31], 31)[-1:]
    np.testing.assert_allclose(got, alone, rtol=0, atol=TOLERANCE)


def test_the_cache_grows_by_pages(llama_dir: Path) -> None:
    executor = create_reference(llama_dir, max_model_len=300)
    token_ids = np.full(300, 5, dtype=np.int32)
    bytes_per_token = 2 * 3 * 2 * 12 * 4
    for start, num_positions in [(0, 256), (255, 256), (256, 512), (299, 512)]:
        executor.step([SequenceChunk(0, start, token_ids[:1])])
        assert executor.memory_use().kv_bytes == num_positions * bytes_per_token


def test_memory_use_counts_tied_weights_once(tmp_path: Path) -> None:
    model = create_tiny_model("llama", tie_word_embeddings=True)
    executor = create_reference(write_native(model, tmp_path / "model"))
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    assert executor.memory_use().weights_bytes == 4 * num_parameters


def test_a_chunk_beyond_the_planned_context_is_refused(llama_dir: Path) -> None:
    executor = create_reference(llama_dir, max_model_len=16)
    with pytest.raises(ContextLengthError, match=r"17 tokens .* planned for 16"):
        executor.step([SequenceChunk(0, 10, np.ones(7, dtype=np.int32))])


@pytest.mark.parametrize(
    ("slot", "start", "token_id"), [(1, 0, 5), (0, -1, 5), (0, 0, 97), (0, 0, -1)]
)
def test_chunks_that_cannot_be_are_refused(
    llama_dir: Path, slot: int, start: int, token_id: int
) -> None:
    executor = create_reference(llama_dir)
    with pytest.raises(EngineError):
        executor.step([SequenceChunk(slot, start, np.array([token_id], dtype=np.int32))])

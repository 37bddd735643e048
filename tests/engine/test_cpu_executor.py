"""The cpu executor against the reference: tiny models of every family, dense and quantized."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.core.errors import ContextLengthError, EngineError, MissingExtraError, UnsupportedError
from app.engine.executors.base import LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec
from kernels.cpu.loader import instruction_sets
from tests.engine.test_reference_executor import CASES
from tests.random_checkpoints import write_random
from tests.tiny_models import BASE, create_tiny_model, write_native

# Relative L2 over all logits. Both executors sum in float32, in different orders.
TOLERANCE = 1e-5
NUM_TOKENS = 60
TOKENS = np.random.default_rng(5).integers(3, 97, NUM_TOKENS).astype(np.int32)
QUANTS = [
    QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.FP16),
    QuantScheme(4, 128, Scheme.SYM, ScaleDtype.FP16),
    QuantScheme(3, 64, Scheme.ZERO, ScaleDtype.FP32),
    QuantScheme(8, 16, Scheme.SYM, ScaleDtype.TWO_LEVEL),
    QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.TWO_LEVEL),
    QuantScheme(8, -1, Scheme.SYM, ScaleDtype.FP32),
]


def create(directory: Path, **options: Any) -> CpuExecutor:
    """The executor of a native folder, which is closed again at once."""
    with Checkpoint.open(directory) as checkpoint:
        return CpuExecutor(checkpoint, create_spec(checkpoint.config), 256, **options)


def create_reference(directory: Path) -> ReferenceExecutor:
    """The yardstick of a native folder."""
    with Checkpoint.open(directory) as checkpoint:
        return ReferenceExecutor(checkpoint, create_spec(checkpoint.config), 256)


def run(executor: Any, size: int) -> npt.NDArray[np.float32]:
    """All logits of TOKENS, run in pieces of `size`."""
    pieces = [
        executor.step([SequenceChunk(0, i, TOKENS[i : i + size], LogitsWanted.ALL)])[0]
        for i in range(0, NUM_TOKENS, size)
    ]
    return np.concatenate(pieces)


def relative_error(got: npt.NDArray[np.float32], want: npt.NDArray[np.float32]) -> float:
    """||got - want|| / ||want||."""
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


@pytest.mark.parametrize("case", CASES)
def test_dense_models_equal_the_reference(case: str, tmp_path: Path) -> None:
    model_type, changes = CASES[case]
    directory = write_native(create_tiny_model(model_type, **changes), tmp_path / "model")
    want = run(create_reference(directory), NUM_TOKENS)
    executor = create(directory, kv_dtype="fp32")
    for size in (NUM_TOKENS, 13, 1):
        assert relative_error(run(executor, size), want) < TOLERANCE
    executor.close()


@pytest.mark.parametrize("quant", QUANTS, ids=lambda quant: f"{quant.label} {quant.scale_dtype}")
@pytest.mark.parametrize("model_type", ["llama", "qwen2", "qwen3", "mistral"])
def test_quantized_models_equal_the_reference(
    model_type: str, quant: QuantScheme, tmp_path: Path
) -> None:
    changes = {"hidden_size": 160, "head_dim": 40, "tie_word_embeddings": model_type == "qwen3"}
    config = create_tiny_model(model_type, **changes).config.to_dict()
    directory = write_random(create_spec(config), config, tmp_path / "model", quant)
    want = run(create_reference(directory), NUM_TOKENS)
    executor = create(directory, kv_dtype="fp32")
    for size in (NUM_TOKENS, 1):
        assert relative_error(run(executor, size), want) < TOLERANCE
    executor.close()


@pytest.fixture(scope="module")
def llama_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny native Llama."""
    return write_native(create_tiny_model("llama"), tmp_path_factory.mktemp("llama") / "model")


@pytest.fixture(scope="module")
def llama_spec(llama_dir: Path) -> ModelSpec:
    """Its spec."""
    with Checkpoint.open(llama_dir) as checkpoint:
        return create_spec(checkpoint.config)


@pytest.mark.parametrize("instruction_set", instruction_sets())
def test_the_environment_picks_the_instruction_set(
    instruction_set: str, llama_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPINFER_CPU_ISA", instruction_set)
    executor = create(llama_dir, kv_dtype="fp32")
    assert executor.instruction_set == instruction_set
    want = run(create_reference(llama_dir), NUM_TOKENS)
    assert relative_error(run(executor, NUM_TOKENS), want) < TOLERANCE
    executor.close()


def test_an_instruction_set_this_machine_lacks_is_refused(
    llama_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPINFER_CPU_ISA", "avx1024")
    with pytest.raises(EngineError, match="cannot run the instruction set 'avx1024'"):
        create(llama_dir)


@pytest.mark.parametrize("num_threads", [2, 3])
def test_thread_count_changes_no_bit(num_threads: int, llama_dir: Path) -> None:
    logits = []
    for threads in (1, num_threads):
        executor = create(llama_dir, num_threads=threads)
        logits.append(np.concatenate([run(executor, NUM_TOKENS), run(executor, 1)]))
        executor.close()
    np.testing.assert_array_equal(*logits)


def test_chunks_of_two_slots_in_one_step(llama_dir: Path) -> None:
    executor = create(llama_dir, num_slots=2, kv_dtype="fp32")
    want = run(create_reference(llama_dir), NUM_TOKENS)
    other = TOKENS[::-1].copy()
    for start in range(0, NUM_TOKENS, 20):
        nothing, every, last = executor.step(
            [
                SequenceChunk(1, start, other[start : start + 20], LogitsWanted.NONE),
                SequenceChunk(0, start, TOKENS[start : start + 19], LogitsWanted.ALL),
                SequenceChunk(0, start + 19, TOKENS[start + 19 : start + 20], LogitsWanted.LAST),
            ]
        )
        assert nothing.shape == (0, 97)
        got = np.concatenate([every, last])
        assert relative_error(got, want[start : start + 20]) < TOLERANCE
    executor.close()


def test_the_cache_grows_in_pages_of_256_positions(llama_dir: Path, llama_spec: ModelSpec) -> None:
    with Checkpoint.open(llama_dir) as checkpoint:
        executor = CpuExecutor(checkpoint, llama_spec, 600, num_slots=2)
    page = 256 * 3 * 2 * (12 + 16) * 2  # layers, heads, key and value padded to 16 lanes, float16
    token = TOKENS[:1]
    for slot, start, num_pages in [(0, 0, 1), (0, 255, 1), (0, 256, 2), (1, 0, 3), (0, 20, 3)]:
        executor.step([SequenceChunk(slot, start, token)])
        assert executor.memory_use().kv_bytes == num_pages * page
    executor.close()


def test_memory_use_counts_weights_once(tmp_path: Path) -> None:
    model = create_tiny_model("llama", tie_word_embeddings=True, hidden_size=64, vocab_size=128)
    executor = create(write_native(model, tmp_path / "model"))
    num_parameters = sum(parameter.numel() for parameter in model.parameters())
    # 80 of down_proj's columns are padded to 96.
    assert executor.memory_use().weights_bytes == 4 * (num_parameters + 3 * 64 * 16)
    executor.close()


def test_closing_gives_everything_back_and_may_be_repeated(llama_dir: Path) -> None:
    executor = create(llama_dir)
    run(executor, NUM_TOKENS)
    executor.close()
    executor.close()
    use = executor.memory_use()
    assert (use.weights_bytes, use.kv_bytes, use.workspace_bytes) == (0, 0, 0)
    with pytest.raises(EngineError, match="closed"):
        run(executor, NUM_TOKENS)


def test_a_chunk_beyond_the_planned_context_is_refused(llama_dir: Path) -> None:
    executor = create(llama_dir)
    with pytest.raises(ContextLengthError, match=r"257 tokens .* planned for 256"):
        executor.step([SequenceChunk(0, 250, np.ones(7, dtype=np.int32))])
    executor.close()


def test_what_the_kernels_cannot_run_is_refused_by_name(llama_dir: Path) -> None:
    config = {**BASE, "model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    spec = create_spec({**config, "rope_theta": 1e4, "hidden_act": "silu", "head_dim": 514})
    with (
        Checkpoint.open(llama_dir) as checkpoint,
        pytest.raises(UnsupportedError, match="head_dim up to 512, not 514"),
    ):
        CpuExecutor(checkpoint, spec, 256)


def test_a_checkpoint_of_another_shape_is_refused(llama_dir: Path, tmp_path: Path) -> None:
    wide = write_native(create_tiny_model("llama", intermediate_size=112), tmp_path / "wide")
    with Checkpoint.open(llama_dir) as narrow, Checkpoint.open(wide) as checkpoint:
        spec = create_spec(narrow.config)
        with pytest.raises(EngineError, match="gate_proj has the wrong shape"):
            CpuExecutor(checkpoint, spec, 256)


def test_a_missing_compiler_is_one_sentence(
    llama_dir: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from kernels.cpu import build, loader

    monkeypatch.setattr(build, "_LIBRARY_FOLDER", tmp_path / "lib")
    monkeypatch.setattr(build, "_find_tool", lambda name, attribute: None)
    loader.load.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match="needs CMake"):
            create(llama_dir)
    finally:
        loader.load.cache_clear()
    assert not list((tmp_path / "lib").iterdir())

"""The cuda executor on a device of fibers against the reference executor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.core.errors import ContextLengthError, EngineError
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cuda.cupy_launcher import choose_target
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.spec.registry import create_spec
from tests.kernels.host_launcher import HostLauncher
from tests.tiny_models import create_tiny_model, write_native

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

CONTEXT = 96
PROMPT = np.array([5, 17, 3, 60, 41, 8, 2, 33, 12, 7, 90, 55], np.int32)
MODELS: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {},
    "qwen3": {"head_dim": 16},
    "mistral": {"sliding_window": 7},
}


@pytest.fixture(scope="module", params=MODELS)
def model_dir(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    changes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    model = create_tiny_model(request.param, **{**changes, **MODELS[request.param]})
    return write_native(model, tmp_path_factory.mktemp(request.param) / "model")


@contextmanager
def cuda(path: Path, num_slots: int = 1, **options: Any) -> Iterator[CudaExecutor]:
    with Checkpoint.open(path) as checkpoint:
        executor = CudaExecutor(
            checkpoint,
            create_spec(checkpoint.config),
            CONTEXT,
            num_slots,
            launcher=HostLauncher(),
            **options,
        )
    with closing(executor):
        yield executor


@contextmanager
def reference(path: Path, num_slots: int = 1) -> Iterator[ReferenceExecutor]:
    with Checkpoint.open(path) as checkpoint:
        executor = ReferenceExecutor(checkpoint, create_spec(checkpoint.config), CONTEXT, num_slots)
    with closing(executor):
        yield executor


def prefill(executor: Executor, ids: npt.NDArray[np.int32], slot: int = 0) -> Any:
    return executor.step([SequenceChunk(slot, 0, ids, LogitsWanted.ALL)])[0]


def generate(executor: Executor, count: int) -> list[int]:
    """Greedy tokens after the prompt."""
    logits, ids = prefill(executor, PROMPT)[-1], []
    for index in range(count):
        ids.append(int(logits.argmax()))
        chunk = SequenceChunk(0, len(PROMPT) + index, np.array(ids[-1:], np.int32))
        logits = executor.step([chunk])[0][0]
    return ids


def test_logits_and_greedy_tokens_equal_the_reference(model_dir: Path) -> None:
    with cuda(model_dir) as mine, reference(model_dir) as wanted:
        found, expected = prefill(mine, PROMPT), prefill(wanted, PROMPT)
        assert np.linalg.norm(found - expected) / np.linalg.norm(expected) <= 3e-3
        assert generate(mine, 16) == generate(wanted, 16)


def test_a_graph_is_captured_once_and_replayed(model_dir: Path) -> None:
    with cuda(model_dir) as executor:
        launcher = executor._launcher
        assert isinstance(launcher, HostLauncher)
        generate(executor, 4)
        captures = launcher.num_captures
        generate(executor, 8)
        assert launcher.num_captures == captures


def test_sequences_of_a_batch_do_not_see_each_other(model_dir: Path) -> None:
    prompts = [PROMPT, PROMPT[::-1].copy(), PROMPT[2:7].copy()]
    with cuda(model_dir, num_slots=3) as executor:
        alone = [prefill(executor, ids, slot) for slot, ids in enumerate(prompts)]
    with cuda(model_dir, num_slots=3) as executor:
        chunks = [SequenceChunk(slot, 0, ids, LogitsWanted.ALL) for slot, ids in enumerate(prompts)]
        together = executor.step(chunks)
    for found, wanted in zip(together, alone, strict=True):
        assert np.allclose(found, wanted, atol=1e-2)


def test_an_int8_cache_costs_little(model_dir: Path) -> None:
    with cuda(model_dir, kv_dtype="int8") as mine, reference(model_dir) as wanted:
        found, expected = prefill(mine, PROMPT), prefill(wanted, PROMPT)
        assert np.linalg.norm(found - expected) / np.linalg.norm(expected) <= 2e-2
        assert mine.memory_use().kv_bytes > 0


def test_what_cannot_be_is_refused(model_dir: Path) -> None:
    with cuda(model_dir) as executor:
        with pytest.raises(ContextLengthError):
            executor.step([SequenceChunk(0, CONTEXT, PROMPT)])
        executor.close()
        with pytest.raises(EngineError, match="closed"):
            executor.step([SequenceChunk(0, 0, PROMPT)])


@pytest.mark.parametrize(
    ("major", "minor", "target"),
    [
        (7, 5, "compute_80"),
        (8, 0, "sm_80"),
        (8, 6, "sm_86"),
        (8, 7, "sm_86"),
        (8, 9, "sm_89"),
        (9, 0, "sm_90"),
        (10, 0, "compute_80"),
        (12, 1, "sm_120"),
    ],
)
def test_a_card_gets_the_newest_code_it_can_run(major: int, minor: int, target: str) -> None:
    assert choose_target(major, minor) == target

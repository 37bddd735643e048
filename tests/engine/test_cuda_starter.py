"""Two layers of the starter model, its whole vocabulary, on a device of fibers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.engine.executors.base import Executor, SequenceChunk
from app.engine.executors.cuda.executor import CudaExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.engine.request import SamplingParams
from app.engine.sampling import Sampler
from app.engine.tokenizer import Tokenizer
from app.spec.registry import create_spec
from tests.kernels.host_launcher import HostLauncher
from tests.starter_layers import cut_layers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

CONTEXT, NUM_TOKENS = 64, 16
PROMPT = "The capital of France is"
GREEDY = SamplingParams(temperature=0.0)
DRAWN = SamplingParams(temperature=0.8, top_k=50, top_p=0.95, repetition_penalty=1.2, seed=6)


@pytest.fixture(scope="module")
def model_dir(starter_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cut_layers(starter_checkpoint, tmp_path_factory.mktemp("starter") / "two", 2)


def executor_of(kind: type[Executor], model_dir: Path, **options: Any) -> Executor:
    with Checkpoint.open(model_dir) as checkpoint:
        return kind(checkpoint, create_spec(checkpoint.config), CONTEXT, **options)


def iter_tokens(executor: Executor, prompt_ids: list[int], params: SamplingParams) -> Iterator[int]:
    sampler = Sampler(params, prompt_ids, executor.spec.vocab_size)
    position, ids = 0, prompt_ids
    while True:
        chunk = SequenceChunk(0, position, np.array(ids, np.int32))
        (token_id,) = executor.sample([chunk], [sampler])
        assert token_id is not None
        yield token_id
        position, ids = position + len(ids), [token_id]


@pytest.mark.parametrize(
    "params", [GREEDY, pytest.param(DRAWN, marks=pytest.mark.slow)], ids=["greedy", "drawn"]
)
def test_tokens_equal_the_reference(model_dir: Path, params: SamplingParams) -> None:
    prompt_ids = Tokenizer.from_dir(model_dir).encode(PROMPT)
    found = []
    for kind, options in ((ReferenceExecutor, {}), (CudaExecutor, {"launcher": HostLauncher()})):
        with closing(executor_of(kind, model_dir, **options)) as executor:
            tokens = iter_tokens(executor, prompt_ids, params)
            found.append([next(tokens) for _ in range(NUM_TOKENS)])
    assert found[1] == found[0]

"""A GPTQ act-order checkpoint computes what the dense model of the same weights computes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.spec.registry import create_spec
from tests.converter.gptq_folder import GptqFolder, create_folder
from tests.converter.test_dense_source import write_folder
from tests.gguf_factory import TinyModel

TOKENS = np.random.default_rng(5).integers(0, 288, 40).astype(np.int32)
TOLERANCE = 1e-5  # relative L2 over all logits: float32 sums in another order
QWEN = TinyModel("qwen3", hidden=64, inner=96)


def write_dense(folder: GptqFolder, path: Path) -> Path:
    """The same model with float32 weights; what was not quantized stays as it is."""
    arrays = ("qweight", "qzeros", "scales", "g_idx")
    tensors = {n: a for n, a in folder.tensors.items() if n.rsplit(".", 1)[1] not in arrays}
    return write_folder(path, folder.model, tensors | folder.weights())


def run(executor: type[Executor], directory: Path) -> npt.NDArray[np.float32]:
    """Logits of TOKENS, the first ten at once, then one by one."""
    with Checkpoint.open(directory) as checkpoint:
        running = executor(checkpoint, create_spec(checkpoint.config), 64)
    steps = [(0, 10), *((start, start + 1) for start in range(10, len(TOKENS)))]
    chunks = [
        SequenceChunk(slot=0, start=a, token_ids=TOKENS[a:b], logits=LogitsWanted.ALL)
        for a, b in steps
    ]
    try:
        return np.concatenate([running.step([chunk])[0] for chunk in chunks])
    finally:
        running.close()


@pytest.mark.parametrize("executor", [ReferenceExecutor, CpuExecutor])
@pytest.mark.parametrize("sym", [True, False], ids=["sym", "asym"])
@pytest.mark.parametrize("model", [TinyModel("llama"), QWEN], ids=lambda model: model.architecture)
def test_logits_are_those_of_the_dense_model(
    model: TinyModel, sym: bool, executor: type[Executor], tmp_path: Path
) -> None:
    folder = create_folder(model=model, sym=sym, act_order=True)
    assert convert(folder.write(tmp_path / "gptq"), tmp_path / "native").lossless
    convert(write_dense(folder, tmp_path / "dense"), tmp_path / "wanted", grid="dense")
    with Checkpoint.open(tmp_path / "native") as checkpoint:
        assert checkpoint.linear("layers.0.self_attn.q_proj").perm is not None
    found, wanted = (run(executor, tmp_path / name) for name in ("native", "wanted"))
    assert np.linalg.norm(found - wanted) <= TOLERANCE * np.linalg.norm(wanted)

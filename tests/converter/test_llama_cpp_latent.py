"""Latent attention and its routers against llama.cpp (fixtures/make_llama_cpp_latent.py)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.converter.pipeline import convert
from app.engine.executors.base import LogitsWanted, SequenceChunk
from tests.engine.test_reference_executor import create_reference
from tests.quantized_folders import FIXTURES

_FOLDER = FIXTURES / "llama_cpp_latent"


@pytest.mark.parametrize("name", ["sigmoid_apart", "softmax_whole"])
def test_logits_are_those_of_llama_cpp(name: str, tmp_path: Path) -> None:
    with np.load(_FOLDER / "logits.npz") as stored:
        token_ids, wanted = stored["token_ids"], stored[name]
    convert(_FOLDER / f"{name}.gguf", tmp_path / "out", grid="dense")
    executor = create_reference(tmp_path / "out", max_model_len=64)
    (found,) = executor.step([SequenceChunk(0, 0, token_ids, LogitsWanted.ALL)])
    error = np.linalg.norm(found - wanted, axis=1) / np.linalg.norm(wanted, axis=1)
    assert error.max() < 2e-5  # measured 3e-6

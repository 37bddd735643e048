"""The planned workspace is what the library counts, in every kind of model."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.converter.pipeline import convert
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.cpu_workspace import workspace_bytes
from tests.families.cases import CASES
from tests.family_models import NUM_TOKENS, create_executor, run, write_folder

# Plain; two ropes; experts, some layers dense; a shared expert; sinks; latent vectors; linear
# layers and a gate of the output.
_NAMES = (
    "llama",
    "gemma3",
    "qwen2 moe some layers",
    "glm4 moe",
    "gpt oss",
    "deepseek v3",
    "qwen3 next",
)
_CASES = {case.name: case for case in CASES if case.name in _NAMES}


def test_the_kinds_are_among_the_cases() -> None:
    assert set(_CASES) == set(_NAMES)


@pytest.mark.parametrize("name", _NAMES)
def test_what_is_planned_is_what_is_held(name: str, tmp_path: Path) -> None:
    folder = write_folder(_CASES[name], tmp_path / "folder")
    convert(folder, tmp_path / "out", grid="dense")
    executor = create_executor(CpuExecutor, tmp_path / "out", num_threads=1, num_slots=1)
    try:
        run(executor, NUM_TOKENS)
        held, spec = executor.memory_use().workspace_bytes, executor.spec
    finally:
        executor.close()
    logits = 4 * spec.vocab_size  # the library has a row of its own where it samples
    assert held == workspace_bytes(spec) - logits

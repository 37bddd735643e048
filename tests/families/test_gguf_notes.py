"""What a GGUF file of a family does not hold is said in the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.converter.sources.detect import open_source
from tests.families import deepseek_cases, dense_cases, hybrid_cases, llama_cases
from tests.family_models import FamilyCase, write_family_gguf, write_folder

_CASES = {
    case.name: case
    for module in (dense_cases, llama_cases, deepseek_cases, hybrid_cases)
    for case in module.CASES
}
_NOTES = {
    "qwen2 vl file": ("Only the language model of Qwen2-VL or Qwen2.5-VL",),
    "qwen3 vl file": ("Only the language model of Qwen3-VL",),
    "starcoder2": ("GGUF does not store StarCoder2's window of 4,096 tokens",),
    "exaone4 hybrid": ("rope_freqs.weight follows no rule that has a name",),
    "olmo2": (),
    "deepseek v2": (),
    "deepseek v2 lite": ("The file does not say within which groups",),
    "qwen3 next": (),
    "qwen3.5": ("Only the language model of Qwen3.5", "The layers that predict"),
    "glm 4.7 flash": ("The file does not say within which groups", "The layers that predict"),
}


@pytest.mark.parametrize("name", _NOTES)
def test_what_is_missing_is_noted(name: str, tmp_path: Path) -> None:
    case: FamilyCase = _CASES[name]
    assert case.gguf
    folder = write_folder(case, tmp_path / "folder")
    path = write_family_gguf(case.gguf, folder, tmp_path / "model.gguf")
    source = open_source(path, tokenizer_dir=folder)
    assert len(source.notes) == len(_NOTES[name])
    for found, wanted in zip(source.notes, _NOTES[name], strict=True):
        assert found.startswith(wanted)

"""Which families can be exported: those whose folders are named and ordered as Llama's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.converter.export import export
from app.converter.export_plan import ExportFormat
from app.converter.pipeline import convert
from app.core.errors import UnsupportedError
from tests.families.dense_cases import DEFAULT_ROPE, LAYERS, NO_RMS_NORM
from tests.families.internlm_cases import publish_internlm2
from tests.family_models import FamilyCase, reference_logits, write_folder

SIZES = {"hidden_size": 64, "intermediate_size": 96}
REFUSED = [
    FamilyCase("Glm4ForCausalLM", "glm4", {**SIZES, "head_dim": 16}),  # fused and interleaved
    FamilyCase("Olmo2ForCausalLM", "olmo2", SIZES),  # other names of norms
    FamilyCase("Starcoder2ForCausalLM", "starcoder2", {**SIZES, **NO_RMS_NORM}),
    FamilyCase("InternLM2ForCausalLM", "llama", SIZES, publish=publish_internlm2),
]
SMOLLM3 = FamilyCase("smollm3", "smollm3", {**SIZES, **LAYERS, "rope_parameters": DEFAULT_ROPE})


def to_native(case: FamilyCase, root: Path) -> Path:
    convert(write_folder(case, root / "folder"), root / "native", grid="w8", group_size=32)
    return root / "native"


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_other_names_are_refused_and_nothing_is_left(case: FamilyCase, tmp_path: Path) -> None:
    native = to_native(case, tmp_path)
    with pytest.raises(UnsupportedError, match=f"{case.name} cannot be exported"):
        export(native, tmp_path / "out", ExportFormat.COMPRESSED_TENSORS)
    assert not (tmp_path / "out").exists()


def test_what_is_named_as_llama_comes_back(tmp_path: Path) -> None:
    native = to_native(SMOLLM3, tmp_path)
    export(native, tmp_path / "out", ExportFormat.COMPRESSED_TENSORS)
    convert(tmp_path / "out", tmp_path / "again", tokenizer_dir=tmp_path / "folder")
    found, wanted = reference_logits(tmp_path / "again"), reference_logits(native)
    # What stays dense, the embedding above all, is rounded to the exported dtype.
    assert np.linalg.norm(found - wanted) < 0.01 * np.linalg.norm(wanted)

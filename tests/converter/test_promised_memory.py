"""What too little memory is answered with, 3 bits, takes what a conversion to them takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.converter.plan import Options, plan_in_detail
from app.converter.sources.detect import open_source
from app.engine.placement import LoadOptions, _memory_costs
from app.spec.registry import create_spec
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf


@pytest.mark.parametrize("vocabulary", [Q.Q8_0, Q.Q6_K])
def test_three_bits_are_promised_as_they_are_planned(tmp_path: Path, vocabulary: Q) -> None:
    """Rows of 256 and of 320 columns, which no groups of 128 divide; a vocabulary that stays."""
    model = TinyModel("llama", hidden=256, heads=8, head_dim=32, inner=320)
    tensors = to_gguf_tensors(model, model.weights())
    types = {name: Q.Q4_1 for name in tensors if "norm" not in name}
    types |= {name: vocabulary for name in ("token_embd.weight", "output.weight") if name in types}
    path = write_gguf(tmp_path / "model.gguf", model, tensors, types)
    source = open_source(path)
    spec = create_spec(source.config)
    convert(path, tmp_path / "exact", grid="exact")
    checkpoint = Checkpoint.open(tmp_path / "exact")
    planned = plan_in_detail(source, tmp_path / "w3", Options(grid="w3")).memory_bytes
    assert _memory_costs(checkpoint, spec, "cpu", LoadOptions()).w3_bytes == planned

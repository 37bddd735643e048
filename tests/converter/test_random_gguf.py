"""The GGUF of random blocks that the benchmarks measure: a sound file of sound numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gguf.constants import GGMLQuantizationType

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from benchmarks.random_gguf import write_random_gguf

SMALL = {
    "hidden_size": 512,
    "intermediate_size": 768,
    "num_hidden_layers": 1,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 256,
}


@pytest.mark.parametrize("kind", [GGMLQuantizationType.Q4_0, GGMLQuantizationType.Q4_K])
def test_random_weights_keep_a_tokens_length(tmp_path: Path, kind: GGMLQuantizationType) -> None:
    source = write_random_gguf(tmp_path / "x.gguf", kind, **SMALL)
    convert(source, tmp_path / "native")
    with Checkpoint.open(tmp_path / "native") as checkpoint:
        for name in ("embed_tokens", "layers.0.self_attn.q_proj", "layers.0.mlp.down_proj"):
            linear = checkpoint.linear(name)
            assert checkpoint.manifest.linears[name].provenance.source_type == kind.name
            weight = dequantize(linear).astype(np.float64)
            assert 0.9 < weight.std() * np.sqrt(linear.shape[1]) < 1.1
            assert abs(weight.mean()) < 0.15 * weight.std()
            del linear
        assert checkpoint.manifest.linears["lm_head"].provenance.source_type == "Q6_K"


def test_the_same_arguments_give_the_same_file(tmp_path: Path) -> None:
    paths = [
        write_random_gguf(tmp_path / name, GGMLQuantizationType.Q4_K, **SMALL)
        for name in ("a.gguf", "b.gguf")
    ]
    first, second = (path.read_bytes() for path in paths)
    assert first == second

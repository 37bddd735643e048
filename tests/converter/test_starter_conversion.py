"""The real starter model, bit for bit: every tensor against gguf's own reader and decoder."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import numpy as np

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.spec.registry import create_spec
from app.spec.weights import iter_linears, iter_vectors
from tests.gguf_factory import gguf_name, unpermute

_HEADS = {"q_proj": 9, "k_proj": 3}


def test_every_tensor_decodes_to_ggufs_bits(starter_gguf: Path, starter_checkpoint: Path) -> None:
    stored = {tensor.name: tensor for tensor in gguf.GGUFReader(starter_gguf).tensors}
    checkpoint = Checkpoint.open(starter_checkpoint, verify=True)
    for name in checkpoint.manifest.linears:
        tensor = stored.pop(gguf_name(name))
        wanted = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        heads = _HEADS.get(name.rsplit(".", 1)[-1])
        wanted = unpermute(wanted, heads) if heads else wanted
        found = dequantize(checkpoint.linear(name))
        assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32)), name
    spec = create_spec(json.loads((starter_checkpoint / "config.json").read_text(encoding="utf-8")))
    for name, _ in iter_vectors(spec):
        wanted = stored.pop(gguf_name(name)).data
        np.testing.assert_array_equal(checkpoint.vector(name), wanted, err_msg=name)
    assert not stored
    assert set(checkpoint.manifest.linears) == {name for name, _ in iter_linears(spec)}
    assert checkpoint.manifest.is_lossless
    checkpoint.close()


def test_its_configuration(starter_checkpoint: Path) -> None:
    config = json.loads((starter_checkpoint / "config.json").read_text(encoding="utf-8"))
    spec = create_spec(config)
    assert (spec.hidden_size, spec.num_hidden_layers, spec.head_dim) == (576, 30, 64)
    assert (spec.num_attention_heads, spec.num_key_value_heads) == (9, 3)
    assert (spec.rope.theta, spec.rms_norm_eps) == (100000.0, 1e-5)
    assert spec.tie_word_embeddings

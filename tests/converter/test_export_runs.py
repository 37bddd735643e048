"""An exported checkpoint in another engine: transformers with compressed-tensors, on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.checkpoint.schemes import Linear, Scheme
from app.converter.export import export
from app.converter.export_plan import ExportFormat
from tests.gguf_factory import TinyModel
from tests.native_factory import random_linear, write_native_model

_MODEL = TinyModel("llama", hidden=128, heads=4, head_dim=32, inner=256)


def create(name: str, shape: tuple[int, int]) -> Linear:
    """Several grids, one of them dense in the end."""
    short = name.rpartition(".")[2]
    if name == "layers.1.self_attn.o_proj":
        return random_linear(shape, scheme=Scheme.AFFINE)
    # compressed-tensors 0.20.1 cannot load packed zero points through transformers (its meta path
    # leaves them unpacked): test_export decodes those by its compressor.
    kinds = {"q_proj": (4, 128, Scheme.SYM), "down_proj": (8, -1, Scheme.SYM)}
    return random_linear(shape, *kinds.get(short, (4, 32, Scheme.SYM)), seed=len(name))


@pytest.mark.filterwarnings("ignore")  # transformers' and torch's own
def test_transformers_loads_it_and_computes_the_same(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    native = write_native_model(tmp_path / "native", _MODEL, create)
    export(native, tmp_path / "out", ExportFormat.COMPRESSED_TENSORS)
    exported = AutoModelForCausalLM.from_pretrained(tmp_path / "out", dtype=torch.float16)
    dense = AutoModelForCausalLM.from_config(exported.config, dtype=torch.float16)
    dense.load_state_dict(_decoded(native))
    ids = torch.arange(24)[None]
    with torch.no_grad():
        found, wanted = exported(ids).logits, dense(ids).logits
    assert torch.equal(found, wanted)
    assert wanted.float().std() > 0.1


def _decoded(native: Path) -> dict[str, Any]:
    """Every tensor of the native checkpoint as float16, which is what the other engine computes."""
    from torch import from_numpy

    tensors = {}
    with Checkpoint.open(native) as checkpoint:
        for name in checkpoint.manifest.linears:
            tensors[name] = dequantize(checkpoint.linear(name))
        for index in range(_MODEL.layers):
            for norm in ("input_layernorm", "post_attention_layernorm"):
                tensors[f"layers.{index}.{norm}"] = checkpoint.vector(f"layers.{index}.{norm}")
        tensors["norm"] = checkpoint.vector("norm")
    prefix = {"lm_head": ""}
    return {
        f"{prefix.get(name, 'model.')}{name}.weight": from_numpy(array.astype(np.float16))
        for name, array in tensors.items()
    }

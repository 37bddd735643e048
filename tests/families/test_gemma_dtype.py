"""Gemma in bfloat16: transformers multiplies embeddings with a number rounded to that dtype."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.spec.registry import create_spec
from tests.family_models import TOKENS, reference_logits
from tests.tiny_models import create_tiny_model, tokenizer_files


@pytest.mark.parametrize("model_type", ["gemma", "gemma2", "gemma3_text"])
def test_a_bfloat16_gemma_scales_as_transformers_does(model_type: str, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    model = create_tiny_model(model_type, head_dim=16).bfloat16()
    model.config.dtype = torch.bfloat16
    model.save_pretrained(tmp_path / "folder")
    for name, content in tokenizer_files().items():
        (tmp_path / "folder" / name).write_text(content, encoding="utf-8")
    convert(tmp_path / "folder", tmp_path / "native", grid="dense")
    with Checkpoint.open(tmp_path / "native") as checkpoint:
        scale = create_spec(checkpoint.config).embedding_multiplier
    assert scale == 6.9375  # the square root of 48 is 6.9282
    whole = AutoModelForCausalLM.from_pretrained(tmp_path / "folder", dtype=torch.float32)
    embed_scale = whole.model.embed_tokens.embed_scale
    embed_scale.copy_(embed_scale.to(torch.bfloat16))  # as its forward does beside such weights
    with torch.no_grad():
        tokens = torch.from_numpy(TOKENS[None].astype(np.int64))
        want = whole(tokens, use_cache=False).logits[0].numpy()
    np.testing.assert_allclose(reference_logits(tmp_path / "native"), want, rtol=0, atol=1e-4)

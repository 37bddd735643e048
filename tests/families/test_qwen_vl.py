"""The language model inside Qwen2-VL, 2.5-VL and 3-VL, in all spellings of their folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from app.converter.pipeline import convert
from app.converter.sources.huggingface import HuggingFaceSource
from app.core.errors import UnsupportedError
from app.spec.registry import create_spec
from tests.family_models import TOKENS, reference_logits
from tests.tiny_models import BASE, fill_randomly, tokenizer_files

_SIZES = {name: BASE[name] for name in BASE if name != "torch_dtype"} | {"hidden_size": 64}
_AXES = {"rope_type": "default", "rope_theta": 1000.0, "mrope_section": [4, 2, 2]}
_TOWER = {"depth": 1, "hidden_size": 32, "intermediate_size": 32, "num_heads": 2, "patch_size": 4}
_WRAPPERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "qwen2_vl": (
        {**_SIZES, "rope_parameters": _AXES},
        {"depth": 1, "embed_dim": 32, "hidden_size": 64, "num_heads": 2, "patch_size": 4},
    ),
    "qwen2_5_vl": (
        {**_SIZES, "rope_parameters": _AXES},
        {**_TOWER, "out_hidden_size": 64, "fullatt_block_indexes": [0]},
    ),
    "qwen3_vl": (
        {**_SIZES, "head_dim": 16, "rope_parameters": {**_AXES, "mrope_interleaved": True}},
        {**_TOWER, "out_hidden_size": 64, "deepstack_visual_indexes": [0]},
    ),
}


@pytest.fixture(scope="module", params=_WRAPPERS)
def model(request: pytest.FixtureRequest) -> Any:
    """A transformers model with a tiny vision tower."""
    from transformers import AutoConfig, AutoModelForImageTextToText

    text, vision = _WRAPPERS[request.param]
    config = AutoConfig.for_model(
        request.param,
        text_config=text,
        vision_config=vision,
        dtype="float32",
        tie_word_embeddings=False,
    )
    return fill_randomly(AutoModelForImageTextToText.from_config(config))


@pytest.fixture
def folder(model: Any, tmp_path: Path) -> Path:
    """What `save_pretrained` writes, and a tokenizer."""
    model.save_pretrained(tmp_path / "model")
    for name, content in tokenizer_files().items():
        (tmp_path / "model" / name).write_text(content, encoding="utf-8")
    return tmp_path / "model"


def make_older(folder: Path, *, is_flat: bool) -> None:
    """Names without `language_model`, the tower beside them; the text's sizes outside, if flat."""
    tensors = load_file(folder / "model.safetensors")
    short = {
        name.replace("model.language_model.", "model.").replace("model.visual.", "visual."): values
        for name, values in tensors.items()
    }
    save_file(short, folder / "model.safetensors")
    if is_flat:
        path = folder / "config.json"
        config = json.loads(path.read_text(encoding="utf-8"))
        text = config.pop("text_config")
        rope = text.pop("rope_parameters")
        text["rope_theta"] = rope["rope_theta"]
        text["rope_scaling"] = {"type": "mrope", "mrope_section": rope["mrope_section"]}
        path.write_text(json.dumps({**text, **config, "vision_token_id": 9}), encoding="utf-8")


@pytest.mark.parametrize("spelling", ["saved", "older", "flat"])
def test_the_text_part_says_what_the_whole_says(
    spelling: str, model: Any, folder: Path, tmp_path: Path
) -> None:
    import torch

    if spelling != "saved":
        make_older(folder, is_flat=spelling == "flat")
    convert(folder, tmp_path / "native", grid="dense")
    with torch.no_grad():
        want = model(torch.from_numpy(TOKENS[None].astype(np.int64))).logits[0].numpy()
    np.testing.assert_allclose(reference_logits(tmp_path / "native"), want, rtol=0, atol=1e-4)


def test_the_notes_name_what_is_left_aside(folder: Path, model: Any) -> None:
    source = HuggingFaceSource(folder)
    assert any(type(model).__name__ in note and "text" in note for note in source.notes)
    assert not {"vision_config", "text_config", "image_token_id"} & source.config.keys()
    assert source.config["model_type"] in ("qwen2", "qwen3")
    assert "mrope_section" not in source.config["rope_parameters"]


def test_a_scaled_rope_stays_scaled() -> None:
    text = {**_SIZES, "model_type": "qwen3_vl_text", "rope_theta": 5e6}
    yarn = {"rope_type": "yarn", "factor": 2.0, "mrope_section": [4, 2, 2]}
    config = {
        "architectures": ["Qwen3VLForConditionalGeneration"],
        "model_type": "qwen3_vl",
        "text_config": {**text, "rope_scaling": yarn},
    }
    assert create_spec(config).rope.factor == 2.0
    with pytest.raises(UnsupportedError, match="rope_extra"):
        create_spec({**config, "text_config": {**text, "rope_extra": 1}})

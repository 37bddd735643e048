"""The language model inside Gemma 3, Mistral 3, Qwen3.5 models that see: text, and said so."""

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
from tests.families.hybrid_cases import DELTA_NET, EXPERTS, center_norms
from tests.family_models import TOKENS, reference_logits
from tests.tiny_models import BASE, fill_randomly, tokenizer_files

_SIZES = {name: BASE[name] for name in BASE if name != "torch_dtype"} | {"head_dim": 16}
_GEMMA3 = {
    **_SIZES,
    "model_type": "gemma3_text",
    "sliding_window": 9,
    "query_pre_attn_scalar": 16,
    "rope_parameters": {
        "full_attention": {"rope_type": "linear", "rope_theta": 3000.0, "factor": 8.0},
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
    },
    "num_hidden_layers": 6,
}
_YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 16,
    "llama_4_scaling_beta": 0.3,
}
_MINISTRAL3 = {
    **_SIZES,
    "model_type": "ministral3",
    "rope_parameters": _YARN,
    "tie_word_embeddings": False,
}
_QWEN35 = {
    **_SIZES,
    **DELTA_NET,
    "model_type": "qwen3_5_text",
    "rope_parameters": {
        "rope_type": "default",
        "rope_theta": 1000.0,
        "partial_rotary_factor": 0.5,
        "mrope_section": [2, 1, 1],
        "mrope_interleaved": True,
    },
}
_QWEN35_MOE = {
    **{name: value for name, value in _QWEN35.items() if name != "intermediate_size"},
    **EXPERTS,
    "model_type": "qwen3_5_moe_text",
}
_QWEN_SIGHT = {"depth": 1, "hidden_size": 16, "num_heads": 2, "out_hidden_size": 48}
_SIGHT = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
    "head_dim": 8,
}
_WRAPPERS = {
    "gemma3": (_GEMMA3, {**_SIGHT, "model_type": "siglip_vision_model"}, {}),
    "mistral3": (_MINISTRAL3, {**_SIGHT, "model_type": "pixtral"}, {"tie_word_embeddings": False}),
    "qwen3_5": (_QWEN35, {**_QWEN_SIGHT, "model_type": "qwen3_5_vision"}, {}),
    "qwen3_5_moe": (_QWEN35_MOE, {**_QWEN_SIGHT, "model_type": "qwen3_5_moe_vision"}, {}),
}


@pytest.fixture(scope="module", params=_WRAPPERS)
def model(request: pytest.FixtureRequest) -> Any:
    """A transformers model with a tiny vision tower."""
    from transformers import AutoConfig, AutoModelForImageTextToText

    text, vision, outer = _WRAPPERS[request.param]
    config = AutoConfig.for_model(
        request.param, text_config=text, vision_config=vision, dtype="float32", **outer
    )
    model = fill_randomly(AutoModelForImageTextToText.from_config(config))
    if request.param.startswith("qwen3_5"):
        center_norms(model)
    return model


@pytest.fixture
def folder(model: Any, tmp_path: Path) -> Path:
    """What `save_pretrained` writes, and a tokenizer."""
    model.save_pretrained(tmp_path / "model")
    for name, content in tokenizer_files().items():
        (tmp_path / "model" / name).write_text(content, encoding="utf-8")
    return tmp_path / "model"


def rename(folder: Path, model: Any) -> None:
    """The other published spelling: the language model first, the tower beside it."""
    tensors = load_file(folder / "model.safetensors")
    prefix = "model.language_model."
    is_new = any(name.startswith(prefix) for name in tensors)
    old, new = (prefix, "language_model.model.") if is_new else ("language_model.model.", prefix)
    renamed = {
        (new + name.removeprefix(old) if name.startswith(old) else _other(name, is_new)): values
        for name, values in tensors.items()
    }
    assert renamed.keys() != tensors.keys()
    save_file(renamed, folder / "model.safetensors", metadata={"format": "pt"})


def _other(name: str, is_new: bool) -> str:
    if is_new:
        return name.removeprefix("model.").replace("lm_head", "language_model.lm_head")
    name = name.replace("language_model.lm_head", "lm_head")
    return name if name.startswith("lm_head") else f"model.{name}"


@pytest.mark.parametrize("spelling", ["saved", "renamed"])
def test_the_text_part_says_what_the_whole_says(
    spelling: str, model: Any, folder: Path, tmp_path: Path
) -> None:
    import torch

    if spelling == "renamed":
        rename(folder, model)
    convert(folder, tmp_path / "native", grid="dense")
    with torch.no_grad():
        want = model(torch.from_numpy(TOKENS[None].astype(np.int64))).logits[0].numpy()
    np.testing.assert_allclose(reference_logits(tmp_path / "native"), want, rtol=0, atol=1e-4)


@pytest.mark.parametrize("model", ["qwen3_5"], indirect=True, scope="module")
def test_a_text_part_that_was_taken_out_keeps_its_prefix(folder: Path, tmp_path: Path) -> None:
    """As it is saved after AutoModelForCausalLM has loaded it from the whole."""
    import torch
    from transformers import AutoModelForCausalLM

    text = AutoModelForCausalLM.from_pretrained(folder).eval()
    text.save_pretrained(tmp_path / "text")
    config = json.loads((tmp_path / "text" / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["Qwen3_5ForCausalLM"]
    assert any("language_model" in n for n in load_file(tmp_path / "text" / "model.safetensors"))
    for name, content in tokenizer_files().items():
        (tmp_path / "text" / name).write_text(content, encoding="utf-8")
    convert(tmp_path / "text", tmp_path / "native", grid="dense")
    with torch.no_grad():
        want = text(torch.from_numpy(TOKENS[None].astype(np.int64))).logits[0].numpy()
    np.testing.assert_allclose(reference_logits(tmp_path / "native"), want, rtol=0, atol=1e-4)


def test_the_notes_name_what_is_left_aside(folder: Path, model: Any) -> None:
    source = HuggingFaceSource(folder)
    assert any(type(model).__name__ in note and "text" in note for note in source.notes)
    assert not {"vision_config", "text_config"} & source.config.keys()
    assert create_spec(source.config) == create_spec(
        json.loads((folder / "config.json").read_text())
    )


def test_gemma_3_may_leave_sizes_to_its_class() -> None:
    """config.json of google/gemma-3-4b-it says no more of the text than this."""
    text = {
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "model_type": "gemma3_text",
        "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "sliding_window": 1024,
    }
    config = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "eos_token_id": [1, 106],
        "torch_dtype": "bfloat16",
        "text_config": text,
        "vision_config": {"model_type": "siglip_vision_model"},
    }
    spec = create_spec(config)
    assert (spec.num_attention_heads, spec.num_key_value_heads, spec.head_dim) == (8, 4, 256)
    assert (spec.vocab_size, spec.max_position_embeddings) == (262_208, 131_072)
    assert (spec.rope.theta, spec.rope.factor) == (1_000_000.0, 8.0)
    assert spec.sliding_rope
    assert (spec.sliding_rope.theta, spec.sliding_rope.factor) == (10_000.0, 1.0)
    assert spec.eos_token_ids == (1, 106)
    assert spec.tie_word_embeddings
    assert spec.embedding_multiplier == 50.5  # the square root is 50.596
    assert [spec.layer_window(index) for index in (4, 5, 6)] == [1024, None, 1024]


def test_other_language_models_inside_are_refused() -> None:
    config = {"architectures": ["Mistral3ForConditionalGeneration"], "model_type": "mistral3"}
    with pytest.raises(UnsupportedError, match="around 'mistral4'"):
        create_spec({**config, "text_config": {"model_type": "mistral4"}})
    with pytest.raises(UnsupportedError, match="needs model_type 'mistral3' and a text_config"):
        create_spec(config)
    with pytest.raises(UnsupportedError, match="needs model_type 'mistral3' and a text_config"):
        create_spec({**config, "model_type": "llava", "text_config": {"model_type": "mistral"}})

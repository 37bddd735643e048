"""Quantized folders of models that see: the language model inside, as if it stood alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from app.converter.sources.detect import open_source
from tests.compressed_tensors_factory import declaration, packed_tensors, random_packed
from tests.converter.test_dense_source import write_folder
from tests.converter.test_fp8 import MODEL as FP8_MODEL
from tests.converter.test_fp8 import quantized_tensors
from tests.gguf_factory import TinyModel
from tests.quantized_folders import Arrays, edit_config, quantized_linears

_SIGHT = {
    "vision_tower.patch_conv.weight": np.ones((4, 3, 2, 2), ml_dtypes.bfloat16),
    "multi_modal_projector.norm.weight": np.ones(4, ml_dtypes.bfloat16),
}
_IGNORED = ["re:.*vision_tower.*", "re:multi_modal_projector.*", "language_model.lm_head"]
_TEXT_KEYS = ("architectures", "model_type", "quantization_config")


def fp8() -> tuple[TinyModel, Arrays, dict[str, Any]]:
    """As Mistral publishes Ministral 3."""
    tensors = quantized_tensors(None, "weight_scale_inv", "scalar")
    table = {
        "quant_method": "fp8",
        "activation_scheme": "static",
        "weight_block_size": None,
        "modules_to_not_convert": ["model.vision_tower", "model.multi_modal_projector", "lm_head"],
    }
    return FP8_MODEL, tensors, table


def compressed_tensors() -> tuple[TinyModel, Arrays, dict[str, Any]]:
    """As llm-compressor publishes Mistral Small 3.1."""
    model = TinyModel("llama")
    tensors, _ = packed_tensors(model, lambda stem, shape: random_packed(shape, seed=len(stem)))
    return model, tensors, declaration(ignore=_IGNORED)


def wrapped_name(name: str) -> str:
    return f"language_model.{name}"


def wrap_config(config: dict[str, Any]) -> None:
    """Nests what is said of the text."""
    text = {key: value for key, value in config.items() if key not in _TEXT_KEYS}
    table = config["quantization_config"]
    config.clear()
    config |= {
        "architectures": ["Mistral3ForConditionalGeneration"],
        "model_type": "mistral3",
        "text_config": {**text, "model_type": "mistral"},
        "tie_word_embeddings": False,
        "vision_config": {"model_type": "pixtral"},
        "quantization_config": table,
    }


@pytest.mark.parametrize("create", [fp8, compressed_tensors])
def test_the_language_model_is_read_as_if_it_stood_alone(create: Any, tmp_path: Path) -> None:
    model, tensors, table = create()
    alone = {**table, "ignore": ["lm_head"]} if "ignore" in table else table
    plain = open_source(write_folder(tmp_path / "plain", model, tensors, quantization_config=alone))
    wrapped = {wrapped_name(name): array for name, array in tensors.items()} | _SIGHT
    folder = write_folder(tmp_path / "wrapped", model, wrapped, quantization_config=table)
    source = open_source(edit_config(folder, wrap_config))
    assert source.format == plain.format
    assert source.notes[0].startswith("Only the language model of Mistral3For")
    found, wanted = quantized_linears(source), quantized_linears(plain)
    assert found.keys() == {wrapped_name(stem) for stem in wanted}
    for stem, linear in wanted.items():
        got = found[wrapped_name(stem)]
        assert got.name == linear.name
        np.testing.assert_array_equal(got.load_dense(), linear.load_dense())

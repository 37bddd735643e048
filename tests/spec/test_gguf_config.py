"""GGUF metadata -> configuration: strict about keys, and Llama 3's frequencies found again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from app.core.errors import InvalidSourceError, UnsupportedError
from app.spec.gguf_config import config_from_gguf
from app.spec.layer_type import LayerType
from app.spec.model_spec import QKNorm
from app.spec.registry import create_spec
from app.spec.rope import RopeType
from tests.gguf_factory import Floats, TinyModel, model_metadata, to_gguf_tensors


def config_of(
    model: TinyModel,
    rope_freqs: Floats | None = None,
    *,
    biases: tuple[str, ...] = (),
    **extra: Any,
) -> dict[str, Any]:
    shapes = {n: w.shape for n, w in to_gguf_tensors(model, model.weights()).items()}
    shapes |= {f"blk.0.{name}.bias": (1,) for name in biases}
    metadata = {"general.architecture": model.architecture, **model_metadata(model)}
    for key, value in extra.items():
        metadata[key.replace("__", ".")] = value
    metadata = {key: value for key, value in metadata.items() if value is not None}
    tables = {} if rope_freqs is None else {"rope_freqs.weight": rope_freqs}
    return config_from_gguf(metadata, shapes, tables, file="m.gguf")


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
def test_sizes_reach_the_spec(architecture: str) -> None:
    model = TinyModel(architecture, head_dim=32, tied=True, rope_theta=5e5)
    spec = create_spec(config_of(model))
    assert spec.family == architecture
    assert (spec.hidden_size, spec.intermediate_size) == (model.hidden, model.inner)
    assert (spec.num_attention_heads, spec.num_key_value_heads, spec.head_dim) == (4, 2, 32)
    assert (spec.num_hidden_layers, spec.vocab_size) == (model.layers, model.vocab)
    assert (spec.max_position_embeddings, spec.rms_norm_eps) == (512, 1e-5)
    assert (spec.rope.rope_type, spec.rope.theta) == (RopeType.DEFAULT, 5e5)
    assert spec.tie_word_embeddings
    assert (spec.bos_token_id, spec.eos_token_ids) == (256, (258,))
    assert spec.attention_bias.q == (architecture == "qwen2")
    assert spec.qk_norm is (QKNorm.HEAD if architecture == "qwen3" else QKNorm.NONE)


def test_absent_keys_have_llama_cpps_defaults() -> None:
    config = config_of(
        TinyModel(),
        llama__attention__head_count_kv=None,
        llama__attention__key_length=None,
        llama__attention__value_length=None,
        llama__rope__freq_base=None,
    )
    assert config["num_key_value_heads"] == 4
    assert config["head_dim"] == 16
    assert config["rope_parameters"]["rope_theta"] == 10000.0


def test_one_value_per_layer_is_that_value() -> None:
    config = config_of(TinyModel(), llama__feed_forward_length=np.array([96, 96], np.int32))
    assert config["intermediate_size"] == 96
    with pytest.raises(UnsupportedError, match="different values per layer"):
        config_of(TinyModel(), llama__feed_forward_length=np.array([96, 48], np.int32))


def test_unknown_keys_of_the_architecture_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"llama\.new_thing"):
        config_of(TinyModel(), llama__new_thing=1)


def test_mistral_is_told_apart_by_its_window() -> None:
    spec = create_spec(config_of(TinyModel(), llama__attention__sliding_window=32))
    assert (spec.family, spec.sliding_window) == ("mistral", 32)
    assert spec.layer_types == (LayerType.SLIDING,) * 2
    with pytest.raises(UnsupportedError, match="sliding_window"):
        config_of(TinyModel("qwen2"), qwen2__attention__sliding_window=32)


def test_biases_of_llama_come_from_the_tensors() -> None:
    everywhere = ("attn_q", "attn_k", "attn_v", "attn_output")
    spec = create_spec(config_of(TinyModel(), biases=everywhere))
    assert spec.attention_bias.o
    assert not spec.mlp_bias
    with pytest.raises(UnsupportedError, match="only attn_q of"):
        config_of(TinyModel(), biases=("attn_q",))


_REFUSED = {
    "unknown architecture": ({"general__architecture": "gpt5"}, "architecture 'gpt5'"),
    "vision projector": ({"general__type": "mmproj"}, "vision projector"),
    "clip": ({"general__architecture": "clip"}, "vision projector"),
    "adapter": ({"general__type": "adapter"}, "LoRA adapter"),
    "imatrix": ({"general__type": "imatrix"}, "importance matrix"),
    "draft": ({"general__architecture": "eagle3"}, "draft model"),
    "assistant": ({"general__architecture": "gemma4_assistant"}, "draft model"),
    "embedding": ({"llama__pooling_type": 1}, "embedding model"),
    "not causal": ({"llama__attention__causal": False}, "causal"),
    "value heads": ({"llama__attention__value_length": 8}, "differs from key_length"),
    "partial rotary": ({"llama__rope__dimension_count": 8}, "rotating 8 of 16"),
    "rope type": ({"llama__rope__scaling__type": "mystery"}, "'mystery'"),
}


@pytest.mark.parametrize("kind", _REFUSED)
def test_what_is_refused_by_name(kind: str) -> None:
    extra, reason = _REFUSED[kind]
    with pytest.raises(UnsupportedError, match=reason) as raised:
        config_of(TinyModel(), **extra)
    assert raised.value.message.startswith("m.gguf: ")


def test_experts_where_none_are_known_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="mixture of experts"):
        config_of(TinyModel("qwen2"), qwen2__expert_count=8)


_DAMAGED = {
    "no architecture": ({"general__architecture": None}, "no general.architecture"),
    "missing": ({"llama__block_count": None}, "no llama.block_count"),
    "ill-typed": ({"llama__block_count": "two"}, "must be an integer"),
    "layers without end": ({"llama__block_count": 1 << 40}, "only 21 tensors"),
    "no layers": ({"llama__block_count": 0}, "block_count is 0"),
    "array of kinds": ({"tokenizer__ggml__eos_token_id": np.array([2, 3])}, "not an integer"),
    "no heads": ({"llama__attention__head_count": 0}, "head_count is 0"),
    "linear without factor": ({"llama__rope__scaling__type": "linear"}, "no usable factor"),
}


@pytest.mark.parametrize("kind", _DAMAGED)
def test_what_is_damaged(kind: str) -> None:
    extra, fault = _DAMAGED[kind]
    with pytest.raises(InvalidSourceError, match=fault):
        config_of(TinyModel(), **extra)


def test_linear_and_yarn_scaling() -> None:
    linear = config_of(TinyModel(), llama__rope__scale_linear=4.0)
    assert linear["rope_parameters"]["rope_type"] == "linear"
    assert create_spec(linear).rope.factor == 4.0
    yarn = config_of(
        TinyModel("qwen2"),
        qwen2__rope__scaling__type="yarn",
        qwen2__rope__scaling__factor=4.0,
        qwen2__rope__scaling__original_context_length=128,
    )
    rope = create_spec(yarn).rope
    assert (rope.rope_type, rope.factor) == (RopeType.YARN, 4.0)
    assert rope.cos_sin_factor == pytest.approx(0.1 * math.log(4) + 1)
    assert rope.original_max_position_embeddings == 128


def llama3_divisors(theta: float, head_dim: int, factor: float) -> Floats:
    """llama.cpp's generator of rope_freqs.weight, frequency by frequency."""
    low_wavelength, high_wavelength = 8192 / 1.0, 8192 / 4.0
    divisors = []
    for index in range(0, head_dim, 2):
        wavelength = 2 * math.pi * theta ** (index / head_dim)
        if wavelength < high_wavelength:
            divisors.append(1.0)
        elif wavelength > low_wavelength:
            divisors.append(factor)
        else:
            smooth = (8192 / wavelength - 1.0) / (4.0 - 1.0)
            divisors.append(1 / ((1 - smooth) / factor + smooth))
    return np.array(divisors, np.float32)


@pytest.mark.parametrize("factor", [8.0, 32.0])
def test_llama3_frequencies_become_parameters_again(factor: float) -> None:
    divisors = llama3_divisors(5e5, 128, factor)
    assert (divisors == 1).sum() == 29
    assert (divisors == factor).sum() == 29
    model = TinyModel(head_dim=128, rope_theta=5e5)
    config = config_of(model, divisors)
    assert config["rope_parameters"] == {
        "rope_theta": 5e5,
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }
    plain = 5e5 ** -(np.arange(0, 128, 2) / 128)
    found = create_spec(config).rope.inverse_frequencies(16384)
    np.testing.assert_allclose(found, plain / divisors, rtol=1e-5)
    assert abs(found - plain).max() > 1e-4 * plain.min()


def test_neutral_frequencies_say_nothing() -> None:
    assert (
        config_of(TinyModel(), np.ones(8, np.float32))["rope_parameters"]["rope_type"] == "default"
    )


def test_other_frequencies_are_kept_as_a_table() -> None:
    divisors = np.linspace(1, 3, 8).astype(np.float32)
    rope = create_spec(config_of(TinyModel(), divisors)).rope
    assert rope.rope_type is RopeType.TABLE
    plain = 1e4 ** -(np.arange(0, 16, 2) / 16)
    np.testing.assert_allclose(rope.inverse_frequencies(512), plain / divisors, rtol=1e-6)


@pytest.mark.parametrize("divisors", [[1.0] * 7, [0.0] * 8, [math.nan] * 8, [-1.0] * 8])
def test_damaged_frequencies(divisors: list[float]) -> None:
    with pytest.raises(InvalidSourceError, match=r"rope_freqs\.weight"):
        config_of(TinyModel(), np.array(divisors, np.float32))


def test_frequencies_and_a_scaling_type_contradict() -> None:
    with pytest.raises(UnsupportedError, match=r"together with rope_freqs\.weight"):
        config_of(TinyModel(), np.full(8, 2, np.float32), llama__rope__scale_linear=2.0)

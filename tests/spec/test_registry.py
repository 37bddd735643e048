"""Each family's configurations become the ModelSpec its code computes, or are refused by name."""

from typing import Any

import pytest

from app.core.errors import UnsupportedError
from app.spec.layer_type import LayerType
from app.spec.model_spec import AttentionBias
from app.spec.registry import create_spec
from app.spec.weights import has_bias, iter_linears, iter_vectors, num_parameters

BASE: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 512,
    "rope_theta": 10_000.0,
    "rms_norm_eps": 1e-5,
}
FAMILIES = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3", "mistral": "Mistral"}


def _config(family: str, **changes: Any) -> dict[str, Any]:
    return {
        "architectures": [f"{FAMILIES[family]}ForCausalLM"],
        "model_type": family,
        **BASE,
        **changes,
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_transformers_own_serialisation_is_read(family: str) -> None:
    import transformers

    config_class = getattr(transformers, f"{FAMILIES[family]}Config")
    sizes = {name: value for name, value in BASE.items() if name != "rope_theta"}
    written = config_class(**sizes, rope_parameters={"rope_type": "default", "rope_theta": 12345.0})
    spec = create_spec({**written.to_dict(), "architectures": [f"{FAMILIES[family]}ForCausalLM"]})
    assert spec.family == family
    assert spec.adapter_path == f"app.spec.adapters.{family}"
    assert (spec.rope.theta, spec.num_key_value_heads, spec.rms_norm_eps) == (12345.0, 2, 1e-5)
    assert spec.head_dim == (getattr(written, "head_dim", None) or 16)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_tensors_of_a_spec_are_those_of_transformers(family: str) -> None:
    import transformers

    config = _config(family, head_dim=24) if family != "qwen2" else _config(family)
    spec = create_spec(config)
    model_class = getattr(transformers, f"{FAMILIES[family]}ForCausalLM")
    model = model_class(getattr(transformers, f"{FAMILIES[family]}Config")(**config))
    expected = {
        name.removeprefix("model."): tuple(weight.shape)
        for name, weight in model.state_dict().items()
    }
    ours: dict[str, tuple[int, ...]] = {
        f"{name}.weight": shape for name, shape in iter_vectors(spec)
    }
    for name, shape in iter_linears(spec):
        ours[f"{name}.weight"] = shape
        if has_bias(spec, name):
            ours[f"{name}.bias"] = shape[:1]
    assert ours == expected
    weights = (value for name, value in model.named_parameters() if not name.endswith("bias"))
    assert num_parameters(spec) == sum(weight.numel() for weight in weights)


def test_biases_follow_the_family() -> None:
    assert create_spec(_config("qwen2")).attention_bias == AttentionBias(
        q=True, k=True, v=True, o=False
    )
    assert create_spec(_config("llama")).attention_bias == AttentionBias()
    llama = create_spec(_config("llama", attention_bias=True, mlp_bias=True))
    assert llama.attention_bias == AttentionBias(q=True, k=True, v=True, o=True)
    assert llama.mlp_bias


def test_windows_follow_the_family() -> None:
    full, sliding = LayerType.FULL, LayerType.SLIDING
    mistral = create_spec(_config("mistral", sliding_window=128))
    assert (mistral.sliding_window, mistral.layer_types) == (128, (sliding,) * 3)
    assert create_spec(_config("mistral", sliding_window=None)).sliding_window is None
    qwen = _config("qwen2", sliding_window=128, max_window_layers=2)
    assert create_spec({**qwen, "use_sliding_window": False}).layer_types == (full,) * 3
    used = create_spec({**qwen, "use_sliding_window": True})
    assert (used.sliding_window, used.layer_types) == (128, (full, full, sliding))
    explicit = create_spec(
        {**qwen, "use_sliding_window": True, "layer_types": [sliding, full, sliding]}
    )
    assert explicit.layer_types == (sliding, full, sliding)


def test_explicit_head_dim_beats_the_quotient() -> None:
    spec = create_spec(_config("llama", head_dim=32))
    assert (spec.head_dim, spec.q_size, spec.kv_size, spec.num_queries_per_kv) == (32, 128, 64, 2)
    assert create_spec(_config("qwen3")).head_dim == 128


def test_end_tokens_are_a_list_and_dtype_has_two_names() -> None:
    spec = create_spec(
        _config("llama", eos_token_id=[2, 7], bos_token_id=1, torch_dtype="bfloat16")
    )
    assert (spec.eos_token_ids, spec.bos_token_id, spec.dtype) == ((2, 7), 1, "bfloat16")
    assert create_spec(_config("llama", eos_token_id=2, dtype="float16")).dtype == "float16"


@pytest.mark.parametrize(
    ("family", "changes", "fault"),
    [
        ("llama", {"architectures": ["MambaForCausalLM"]}, "MambaForCausalLM is not supported"),
        ("llama", {"architectures": []}, "exactly one class"),
        ("llama", {"model_type": "qwen2"}, "model_type 'qwen2'"),
        ("llama", {"num_hidden_layers": 10**12}, "num_hidden_layers must be 1 to 1024"),
        ("llama", {"num_hidden_layers": 0}, "num_hidden_layers must be 1 to 1024"),
        ("llama", {"hidden_size": None}, "no hidden_size"),
        ("llama", {"hidden_size": "64"}, "hidden_size must be an integer"),
        ("llama", {"hidden_size": True}, "hidden_size must be an integer"),
        (
            "llama",
            {"num_attention_heads": 5, "num_key_value_heads": 5},
            "not a multiple of num_attention_heads",
        ),
        ("llama", {"num_key_value_heads": 3}, "not a multiple of num_key_value_heads"),
        ("llama", {"head_dim": 15}, "head_dim .15. is odd"),
        ("llama", {"vocab_size": 0}, "vocab_size must be a positive"),
        ("llama", {"num_attention_heads": 0}, "num_attention_heads"),
        ("llama", {"hidden_act": "relu2"}, "hidden_act 'relu2'"),
        ("llama", {"attention_bias": "yes"}, "attention_bias must be true or false"),
        ("llama", {"kv_lora_rank": 512}, "kv_lora_rank=512"),
        ("llama", {"rope_interleaved": True}, "rope_interleaved=True"),
        ("llama", {"eos_token_id": ["</s>"]}, "eos_token_id"),
        ("qwen2", {"rope_theta": None}, "neither rope_parameters nor rope_theta"),
        ("qwen2", {"layer_types": ["sliding_attention"] * 3}, "use_sliding_window is false"),
        (
            "qwen2",
            {
                "use_sliding_window": True,
                "sliding_window": 8,
                "layer_types": ["linear_attention", "full_attention", "full_attention"],
            },
            "asks for linear_attention",
        ),
        (
            "qwen2",
            {"use_sliding_window": True, "sliding_window": 8, "layer_types": ["full_attention"]},
            "names 1 layers",
        ),
        ("mistral", {"final_logit_softcapping": 30.0}, "final_logit_softcapping=30.0"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    family: str, changes: dict[str, Any], fault: str
) -> None:
    with pytest.raises(UnsupportedError, match=fault):
        create_spec(_config(family, **changes))


def test_switched_off_and_private_keys_are_no_reason_to_refuse() -> None:
    config = _config(
        "llama", some_feature=False, other=None, empty=[], _name_or_path="x", use_cache=True
    )
    assert create_spec(config).family == "llama"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *((name, 0) for name in ("hidden_size", "head_dim", "max_position_embeddings")),
        *(("rms_norm_eps", value) for value in (float("nan"), float("inf"), 0)),
        ("original_max_position_embeddings", 0),
    ],
)
def test_what_others_are_divided_by_is_positive(name: str, value: float) -> None:
    with pytest.raises(UnsupportedError, match=f"{name} must be a positive"):
        create_spec(_config("llama", **{name: value}))

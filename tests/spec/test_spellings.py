"""Every family's configuration in both of transformers' spellings: one ModelSpec."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import UnsupportedError
from app.spec.registry import create_spec

SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 512,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}
# model_type -> (class, what only the older spelling has beside rope_theta)
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "smollm3": ("SmolLM3ForCausalLM", {}),
    "olmo2": ("Olmo2ForCausalLM", {}),
    "olmo3": ("Olmo3ForCausalLM", {}),
    "internlm3": ("InternLM3ForCausalLM", {"qkv_bias": False, "bias": False}),
    "glm": ("GlmForCausalLM", {"partial_rotary_factor": 0.5}),
    "glm4": ("Glm4ForCausalLM", {"partial_rotary_factor": 0.5}),
    "seed_oss": ("SeedOssForCausalLM", {}),
    "starcoder2": ("Starcoder2ForCausalLM", {}),
    "exaone4": ("Exaone4ForCausalLM", {}),
    "ernie4_5": ("Ernie4_5ForCausalLM", {}),
}


def written_by_transformers(model_type: str, **changes: Any) -> dict[str, Any]:
    """The newer spelling, every key said."""
    from transformers import AutoConfig

    written: dict[str, Any] = AutoConfig.for_model(model_type, **SIZES, **changes).to_dict()
    return written | {"architectures": [FAMILIES[model_type][0]], "model_type": model_type}


def older(config: dict[str, Any], **others: Any) -> dict[str, Any]:
    """The older spelling: `rope_theta`, and `rope_scaling` where there is one."""
    found = {key: value for key, value in config.items() if key != "rope_parameters"} | others
    rope = dict(config["rope_parameters"])
    rope = dict(rope.get("full_attention", rope))
    found["rope_theta"] = rope.pop("rope_theta")
    rope.pop("partial_rotary_factor", None)
    return found | {"rope_scaling": None if rope["rope_type"] == "default" else rope}


@pytest.mark.parametrize("model_type", FAMILIES)
def test_both_spellings_mean_the_same(model_type: str) -> None:
    plain = {"rope_type": "default", "rope_theta": 12345.0}
    for full in (plain, {**YARN, "rope_theta": 12345.0}):
        # GLM's configuration writes its share into what it is given.
        is_nested = model_type == "olmo3"
        nested = {"full_attention": full, "sliding_attention": plain}
        rope = nested if is_nested else dict(full)
        config = written_by_transformers(model_type, rope_parameters=rope)
        spec = create_spec(config)
        assert spec.family == model_type
        assert spec.rope.theta == 12345.0
        assert create_spec(older(config, **FAMILIES[model_type][1])) == spec


def test_a_minimal_configuration_has_transformers_defaults() -> None:
    """What a family leaves out stands for what its configuration class says."""
    for model_type, (name, _) in FAMILIES.items():
        spelled = written_by_transformers(model_type)
        rope = spelled["rope_parameters"]
        minimal = {"architectures": [name], "model_type": model_type, **SIZES}
        minimal["rope_parameters"] = rope
        found, wanted = create_spec(minimal), create_spec(spelled)
        for field in ("bos_token_id", "eos_token_ids", "dtype"):  # these have no common default
            object.__setattr__(found, field, getattr(wanted, field))
        assert found == wanted, model_type


@pytest.mark.parametrize("model_type", FAMILIES)
@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"some_new_feature": 7}, "some_new_feature=7"),
        ({"hidden_act": "relu2"}, "hidden_act 'relu2' is not implemented"),
        ({"final_logit_softcapping": 30.0}, "final_logit_softcapping=30.0"),
        ({"rope_parameters": {"rope_type": "mystery", "rope_theta": 1.5}}, "'mystery' is not"),
        (
            {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "spin": 2}},
            "The rope configuration sets spin=2",
        ),
        ({"rope_parameters": None}, "neither rope_parameters nor rope_theta"),
    ],
    ids=["key", "activation", "softcap", "rope type", "rope key", "no rope"],
)
def test_what_a_family_does_not_know_is_refused_by_name(
    model_type: str, changes: dict[str, Any], fault: str
) -> None:
    config = {"architectures": [FAMILIES[model_type][0]], "model_type": model_type, **SIZES}
    config["rope_parameters"] = {"rope_type": "default", "rope_theta": 1e4}
    assert create_spec(config).family == model_type
    with pytest.raises(UnsupportedError, match=fault):
        create_spec({**config, **changes})


@pytest.mark.parametrize(
    ("model_type", "changes", "fault"),
    [
        ("smollm3", {"no_rope_layers": [1, 1, 0]}, "no_rope_layers names 3 layers"),
        ("smollm3", {"no_rope_layer_interval": 0}, "no_rope_layer_interval must be positive"),
        ("olmo3", {"layer_types": ["chunked_attention"] * 5}, "'chunked_attention' is not"),
        ("starcoder2", {"mlp_type": "gated"}, "mlp_type 'gated' is not implemented"),
        ("glm4", {"partial_rotary_factor": 0.4}, "0.4 of head_dim 128 is no even dimension"),
        ("ernie4_5", {"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ("exaone4", {"sliding_window_pattern": 0}, "sliding_window_pattern 0 needs layer_types"),
    ],
)
def test_values_that_are_not_computed_are_refused(
    model_type: str, changes: dict[str, Any], fault: str
) -> None:
    config = {"architectures": [FAMILIES[model_type][0]], "model_type": model_type, **SIZES}
    config["rope_theta"] = 1e4
    with pytest.raises(UnsupportedError, match=fault):
        create_spec({**config, **changes})


def test_smollm3_reads_as_many_entries_as_it_has_layers() -> None:
    config = {"architectures": ["SmolLM3ForCausalLM"], "model_type": "smollm3", **SIZES}
    spec = create_spec({**config, "rope_theta": 1e4, "no_rope_layers": [1, 0, 1, 1, 0, 1, 1]})
    assert spec.rope_layers == (True, False, True, True, False)

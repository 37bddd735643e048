"""StarCoder2: LayerNorm with a bias, an MLP without a gate, and biases everywhere."""

from collections.abc import Mapping
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter, uniform_window
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import AttentionBias, MlpType, NormType
from app.spec.weight_names import WeightNames

# Words of its training code that the published configurations repeat; one value each is computed.
_FIXED = {"norm_type": "layer_norm", "mlp_type": "default"}


def _use_bias(config: ConfigReader) -> bool:
    return config.flag("use_bias", True)


def _attention_bias(config: ConfigReader) -> AttentionBias:
    has_bias = _use_bias(config)
    return AttentionBias(q=has_bias, k=has_bias, v=has_bias, o=has_bias)


def _differences(config: ConfigReader) -> Mapping[str, Any]:
    for name, value in _FIXED.items():
        if (found := config.text(name, value)) != value:
            raise UnsupportedError(f"{name} {found!r} is not implemented.")
    return {"norm_type": NormType.LAYER_NORM, "norm_bias": True, "mlp_type": MlpType.PLAIN}


ADAPTER = ArchitectureAdapter(
    family="starcoder2",
    architectures=("Starcoder2ForCausalLM",),
    model_types=("starcoder2",),
    read_attention_bias=_attention_bias,
    read_mlp_bias=_use_bias,
    read_window=uniform_window,
    read_differences=_differences,
    weight_names=WeightNames(renamed={"mlp.up_proj": "mlp.c_fc", "mlp.down_proj": "mlp.c_proj"}),
    eps_key="norm_epsilon",
    default_hidden_act="gelu_pytorch_tanh",
    default_rms_norm_eps=1e-5,
    default_tie_word_embeddings=True,
    ignored_keys=("residual_dropout", "embedding_dropout"),
)

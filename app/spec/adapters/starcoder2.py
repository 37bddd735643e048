"""StarCoder2: LayerNorm with a bias, an MLP without a gate, and biases everywhere."""

from functools import partial

from app.spec.adapter import ArchitectureAdapter, attention_bias_flag, uniform_window
from app.spec.model_spec import MlpType, NormType
from app.spec.weight_names import WeightNames

ADAPTER = ArchitectureAdapter(
    family="starcoder2",
    architectures=("Starcoder2ForCausalLM",),
    model_types=("starcoder2",),
    read_attention_bias=partial(attention_bias_flag, name="use_bias", default=True),
    read_mlp_bias=lambda config: config.flag("use_bias", True),
    read_window=uniform_window,
    read_differences=lambda config: {
        "norm_type": NormType.LAYER_NORM,
        "norm_bias": True,
        "mlp_type": MlpType.PLAIN,
    },
    weight_names=WeightNames(renamed={"mlp.up_proj": "mlp.c_fc", "mlp.down_proj": "mlp.c_proj"}),
    eps_key="norm_epsilon",
    default_hidden_act="gelu_pytorch_tanh",
    default_rms_norm_eps=1e-5,
    default_tie_word_embeddings=True,
    fixed_values={"norm_type": "layer_norm", "mlp_type": "default"},
    ignored_keys=("residual_dropout", "embedding_dropout"),
)

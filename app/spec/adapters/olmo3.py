"""OLMo 3: OLMo 2 with three sliding layers to one full, and yarn on the full ones alone."""

from app.spec.adapter import ArchitectureAdapter, Window, attention_bias_flag, read_layer_types
from app.spec.adapters.olmo2 import POST_NORM_NAMES
from app.spec.config_reader import ConfigReader
from app.spec.layer_type import LayerType
from app.spec.model_spec import NormPlacement, QKNorm

_INTERVAL = 4  # of full layers, where layer_types is absent


def _window(config: ConfigReader, num_layers: int) -> Window:
    window, explicit = config.integer("sliding_window", 4096), config.value("layer_types", None)
    if explicit is not None:
        return window, read_layer_types(explicit)
    kinds = (
        LayerType.SLIDING if (index + 1) % _INTERVAL else LayerType.FULL
        for index in range(num_layers)
    )
    return window, tuple(kinds)


ADAPTER = ArchitectureAdapter(
    family="olmo3",
    architectures=("Olmo3ForCausalLM",),
    model_types=("olmo3",),
    read_attention_bias=attention_bias_flag,
    read_window=_window,
    read_differences=lambda config: {
        "norm_placement": NormPlacement.POST,
        "qk_norm": QKNorm.PROJECTION,
    },
    weight_names=POST_NORM_NAMES,
    sliding_rope=True,
    default_rms_norm_eps=1e-5,
)

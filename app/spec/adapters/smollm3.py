"""SmolLM3: Llama whose every fourth layer has no rotary embedding."""

from app.core.errors import UnsupportedError
from app.spec.adapter import (
    ArchitectureAdapter,
    Window,
    attention_bias_flag,
    read_layer_types,
)
from app.spec.config_reader import ConfigReader
from app.spec.layer_type import LayerType


def _rope_layers(config: ConfigReader) -> tuple[bool, ...]:
    """`no_rope_layers` says 1 where a layer does rotate; without it every n-th does not."""
    num_layers = config.integer("num_hidden_layers")
    interval = config.integer("no_rope_layer_interval", 4)
    listed = config.numbers("no_rope_layers")
    if listed:
        return tuple(entry != 0 for entry in listed[:num_layers])  # it may go on
    if interval < 1:
        raise UnsupportedError(
            "no_rope_layer_interval must be positive, not {interval}.", interval=interval
        )
    return tuple((index + 1) % interval != 0 for index in range(num_layers))


def _window(config: ConfigReader, num_layers: int) -> Window:
    """With `use_sliding_window` the layers without rope slide, unless `layer_types` is given."""
    window, explicit = config.integer("sliding_window", None), config.value("layer_types", None)
    is_used = config.flag("use_sliding_window", False)
    if explicit is not None:
        kinds = read_layer_types(explicit)
    elif is_used and window is not None:
        rotates = _rope_layers(config)
        kinds = tuple(LayerType.FULL if rope else LayerType.SLIDING for rope in rotates)
    else:
        kinds = (LayerType.FULL,) * num_layers
    if LayerType.SLIDING in kinds and not is_used:
        raise UnsupportedError(
            "layer_types asks for sliding_attention, but use_sliding_window is false."
        )
    return window if is_used else None, kinds


ADAPTER = ArchitectureAdapter(
    family="smollm3",
    architectures=("SmolLM3ForCausalLM",),
    model_types=("smollm3",),
    read_attention_bias=attention_bias_flag,
    read_mlp_bias=lambda config: config.flag("mlp_bias", False),
    read_window=_window,
    read_differences=lambda config: {"rope_layers": _rope_layers(config)},
    default_rms_norm_eps=1e-6,
    default_tie_word_embeddings=True,
    ignored_keys=(
        "max_window_layers",
    ),  # its configuration class inherited it and reads it nowhere
)

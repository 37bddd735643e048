"""Ministral 8B (2410): Mistral whose layers may slide one by one."""

from app.spec.adapter import ArchitectureAdapter, Window, read_layer_types, uniform_window
from app.spec.config_reader import ConfigReader


def _read_window(config: ConfigReader, num_layers: int) -> Window:
    """`layer_types` says it layer by layer; without it every layer slides."""
    explicit = config.value("layer_types", None)
    if explicit is None:
        return uniform_window(config, num_layers)
    return config.integer("sliding_window", None), read_layer_types(explicit)


ADAPTER = ArchitectureAdapter(
    family="ministral",
    architectures=("MinistralForCausalLM",),
    model_types=("ministral",),
    read_window=_read_window,
    default_rms_norm_eps=1e-6,
)

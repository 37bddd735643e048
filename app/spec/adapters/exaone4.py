"""EXAONE 4: norms on outputs only, on q and k by head, and full layers of a hybrid without rope."""

from collections.abc import Mapping
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.adapter import ArchitectureAdapter, Window, periodic_window
from app.spec.adapters.olmo2 import POST_NORM_NAMES
from app.spec.config_reader import ConfigReader
from app.spec.layer_type import LayerType
from app.spec.model_spec import NormPlacement, QKNorm


def _sliding_window(config: ConfigReader) -> int | None:
    """Null where no layer slides; a hybrid need not say 4096."""
    window = config.optional_number("sliding_window", 4096)
    return None if window is None else int(window)


def _window(config: ConfigReader, num_layers: int) -> Window:
    """Without `layer_types`, every `sliding_window_pattern`-th layer is full."""
    window = _sliding_window(config)
    explicit = config.value("layer_types", None)
    period = config.value("sliding_window_pattern", 4)
    if window is None and explicit is None:
        return None, (LayerType.FULL,) * num_layers
    if explicit is None and (not isinstance(period, int) or period < 1):
        raise UnsupportedError(
            "sliding_window_pattern {period!r} needs layer_types beside it.", period=period
        )
    return window, periodic_window(config, num_layers, period)[1]


def _differences(config: ConfigReader) -> Mapping[str, Any]:
    window, kinds = _window(config, config.integer("num_hidden_layers"))
    # Only a hybrid lets its full layers do without positions.
    rotates = () if window is None else tuple(kind is LayerType.SLIDING for kind in kinds)
    return {
        "norm_placement": NormPlacement.POST,
        "qk_norm": QKNorm.HEAD,
        "rope_layers": rotates,
    }


ADAPTER = ArchitectureAdapter(
    family="exaone4",
    architectures=("Exaone4ForCausalLM",),
    model_types=("exaone4",),
    read_window=_window,
    read_differences=_differences,
    weight_names=POST_NORM_NAMES,
    default_rms_norm_eps=1e-5,
)

"""What a model family declares, and the one reader that turns it into a ModelSpec."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.core.errors import UnsupportedError
from app.spec.config_reader import ConfigReader
from app.spec.model_spec import AttentionBias, LayerType, ModelSpec
from app.spec.rope_config import read_rope

Window = tuple[int | None, tuple[LayerType, ...]]

_MAX_LAYERS = 1024  # ten times the deepest published decoder


@dataclass(frozen=True, slots=True)
class ArchitectureAdapter:
    """A family: which configurations it claims, and where it differs from the plain decoder.

    read_attention_bias, read_mlp_bias and read_window look the family's own keys up;
    `default_head_dim` None means hidden_size / num_attention_heads; `default_rope_theta` None
    means that the configuration must say it.
    """

    family: str
    architectures: tuple[str, ...]
    model_types: tuple[str, ...]
    read_attention_bias: Callable[[ConfigReader], AttentionBias]
    read_mlp_bias: Callable[[ConfigReader], bool]
    read_window: Callable[[ConfigReader, int], Window]
    qk_norm: bool = False
    default_rope_theta: float | None = None
    default_rms_norm_eps: float | None = None
    default_head_dim: int | None = None
    default_tie_word_embeddings: bool = False
    ignored_keys: tuple[str, ...] = ()

    def read(self, config: ConfigReader, adapter_path: str) -> ModelSpec:
        """Raises UnsupportedError naming the first field that cannot be."""
        num_layers = _num_layers(config)
        num_heads = config.integer("num_attention_heads")
        head_dim = self._head_dim(config, num_heads)
        sliding_window, layer_types = self.read_window(config, num_layers)
        spec = ModelSpec(
            family=self.family,
            architecture=architecture_of(config),
            model_type=config.text("model_type", self.model_types[0]),
            hidden_size=config.integer("hidden_size"),
            intermediate_size=config.integer("intermediate_size"),
            num_hidden_layers=num_layers,
            num_attention_heads=num_heads,
            num_key_value_heads=config.integer("num_key_value_heads", num_heads),
            head_dim=head_dim,
            vocab_size=config.integer("vocab_size"),
            max_position_embeddings=config.integer("max_position_embeddings"),
            rms_norm_eps=self._rms_norm_eps(config),
            rope=read_rope(config, head_dim, self.default_rope_theta),
            hidden_act=config.text("hidden_act", "silu"),
            tie_word_embeddings=config.flag(
                "tie_word_embeddings", self.default_tie_word_embeddings
            ),
            attention_bias=self.read_attention_bias(config),
            mlp_bias=self.read_mlp_bias(config),
            qk_norm=self.qk_norm,
            sliding_window=sliding_window,
            layer_types=layer_types,
            dtype=str(config.value("dtype", config.value("torch_dtype", "float32"))),
            bos_token_id=next(iter(config.token_ids("bos_token_id")), None),
            eos_token_ids=config.token_ids("eos_token_id"),
            adapter_path=adapter_path,
        )
        config.finish(self.ignored_keys)
        return spec.validate()

    def _head_dim(self, config: ConfigReader, num_heads: int) -> int:
        explicit = config.integer("head_dim", self.default_head_dim)
        if explicit is not None:
            return int(explicit)
        hidden_size = config.integer("hidden_size")
        if num_heads <= 0 or hidden_size % num_heads:
            raise UnsupportedError(
                f"hidden_size ({hidden_size}) is not a multiple of "
                f"num_attention_heads ({num_heads}) "
                "and head_dim is not given."
            )
        return int(hidden_size // num_heads)

    def _rms_norm_eps(self, config: ConfigReader) -> float:
        if self.default_rms_norm_eps is None:
            return float(config.number("rms_norm_eps"))
        return float(config.number("rms_norm_eps", self.default_rms_norm_eps))


def _num_layers(config: ConfigReader) -> int:
    """Checked before anything is made per layer: a damaged count would ask for any memory."""
    count = config.integer("num_hidden_layers")
    if not 0 < count <= _MAX_LAYERS:
        raise UnsupportedError(f"num_hidden_layers must be 1 to {_MAX_LAYERS}, not {count}.")
    return int(count)


def architecture_of(config: ConfigReader) -> str:
    """The one entry of `architectures`."""
    names = config.value("architectures", [])
    if not isinstance(names, list) or len(names) != 1 or not isinstance(names[0], str):
        raise UnsupportedError(f"architectures must name exactly one class, not {str(names)[:80]}.")
    return names[0]


def no_attention_bias(config: ConfigReader) -> AttentionBias:
    """No projection has a bias."""
    return AttentionBias()


def attention_bias_flag(config: ConfigReader) -> AttentionBias:
    """All four projections follow `attention_bias`."""
    has_bias = config.flag("attention_bias", False)
    return AttentionBias(q=has_bias, k=has_bias, v=has_bias, o=has_bias)


def no_mlp_bias(config: ConfigReader) -> bool:
    """The MLP has no bias."""
    return False


def full_attention(config: ConfigReader, num_layers: int) -> Window:
    """Every layer sees the whole past."""
    return None, (LayerType.FULL,) * num_layers


def switched_window(config: ConfigReader, num_layers: int) -> Window:
    """Qwen's rule: `use_sliding_window` gates it, and layers from `max_window_layers` on slide."""
    is_used = config.flag("use_sliding_window", False)
    window = config.integer("sliding_window", None)
    first_sliding = config.integer("max_window_layers", num_layers)
    explicit = config.value("layer_types", None)
    if not is_used or window is None:
        if explicit is not None and LayerType.SLIDING in explicit:
            raise UnsupportedError(
                "layer_types asks for sliding_attention, but use_sliding_window is false."
            )
        return None, (LayerType.FULL,) * num_layers
    if explicit is not None:
        return window, _layer_types(explicit)
    kinds = (
        LayerType.SLIDING if index >= first_sliding else LayerType.FULL
        for index in range(num_layers)
    )
    return window, tuple(kinds)


def uniform_window(config: ConfigReader, num_layers: int) -> Window:
    """Mistral's rule: one window for every layer, or none."""
    window = config.integer("sliding_window", None)
    return window, (LayerType.FULL if window is None else LayerType.SLIDING,) * num_layers


def _layer_types(names: object) -> tuple[LayerType, ...]:
    if not isinstance(names, list):
        raise UnsupportedError("layer_types must be a list.")
    known = {str(kind) for kind in LayerType}
    for name in names:
        if name not in known:
            raise UnsupportedError(f"layer_types: {name!r} is not implemented.")
    return tuple(LayerType(name) for name in names)

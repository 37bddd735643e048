"""What a model family declares, and the one reader that turns it into a ModelSpec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.core.errors import UnsupportedError
from app.spec.config_reader import ConfigReader
from app.spec.layer_type import LayerType
from app.spec.model_spec import AttentionBias, ModelSpec
from app.spec.rope import RopeSpec
from app.spec.rope_config import RopeFacts, read_rope, read_ropes
from app.spec.weight_names import LLAMA_NAMES, WeightNames

Window = tuple[int | None, tuple[LayerType, ...]]

_MAX_LAYERS = 1024  # ten times the deepest published decoder


def no_attention_bias(config: ConfigReader) -> AttentionBias:
    """No projection has a bias."""
    return AttentionBias()


def attention_bias_flag(
    config: ConfigReader, name: str = "attention_bias", *, default: bool = False
) -> AttentionBias:
    """All four projections follow one flag."""
    has_bias = config.flag(name, default)
    return AttentionBias(q=has_bias, k=has_bias, v=has_bias, o=has_bias)


def no_mlp_bias(config: ConfigReader) -> bool:
    """The MLP has no bias."""
    return False


def full_attention(config: ConfigReader, num_layers: int) -> Window:
    """Every layer sees the whole past."""
    return None, (LayerType.FULL,) * num_layers


def no_differences(config: ConfigReader) -> Mapping[str, Any]:
    """As the plain decoder."""
    return {}


@dataclass(frozen=True, slots=True)
class ArchitectureAdapter:
    """A family: which configurations it claims, and where it differs from the plain decoder.

    The `read_...` functions look the family's own keys up. `read_differences` gives every other
    field of ModelSpec that is not the plain decoder's, by name. `partial_rotary` says that the
    family knows `partial_rotary_factor`, `sliding_rope` that sliding layers may have a rope of
    their own. `default_head_dim` None means hidden_size / num_attention_heads;
    `default_rope_theta` None means that the configuration must say it,
    `default_sliding_rope_theta` None that sliding layers have the others'. `act_key`, `eps_key`,
    `inner_size_key` and `head_dim_key` are the family's words for `hidden_act`, `rms_norm_eps`,
    `intermediate_size` and `head_dim`, in latent attention for the columns of a head that rotate.
    `ignored_rope_keys` stand among the parameters of the rope but are none. `fixed_values` are keys
    that published configurations repeat, with the one value that is computed.
    """

    family: str
    architectures: tuple[str, ...]
    model_types: tuple[str, ...]
    read_attention_bias: Callable[[ConfigReader], AttentionBias] = no_attention_bias
    read_mlp_bias: Callable[[ConfigReader], bool] = no_mlp_bias
    read_window: Callable[[ConfigReader, int], Window] = full_attention
    read_differences: Callable[[ConfigReader], Mapping[str, Any]] = no_differences
    weight_names: WeightNames = LLAMA_NAMES
    partial_rotary: bool = False
    default_partial_rotary_factor: float = 1.0
    sliding_rope: bool = False
    act_key: str = "hidden_act"
    head_dim_key: str = "head_dim"
    eps_key: str = "rms_norm_eps"
    inner_size_key: str = "intermediate_size"
    default_hidden_act: str = "silu"
    default_rope_theta: float | None = None
    default_sliding_rope_theta: float | None = None
    default_rms_norm_eps: float | None = None
    default_head_dim: int | None = None
    default_tie_word_embeddings: bool = False
    fixed_values: Mapping[str, Any] = field(default_factory=dict)
    ignored_keys: tuple[str, ...] = ()
    ignored_rope_keys: tuple[str, ...] = ()

    def read(self, config: ConfigReader, adapter_path: str) -> ModelSpec:
        """Raises UnsupportedError naming the first field that cannot be."""
        num_layers = _num_layers(config)
        num_heads = config.count("num_attention_heads")
        head_dim = self._head_dim(config, num_heads)
        sliding_window, layer_types = self.read_window(config, num_layers)
        rope, sliding_rope = self._read_ropes(config, head_dim)
        spec = ModelSpec(
            family=self.family,
            architecture=architecture_of(config),
            model_type=config.text("model_type", self.model_types[0]),
            hidden_size=config.integer("hidden_size"),
            intermediate_size=config.integer(self.inner_size_key),
            num_hidden_layers=num_layers,
            num_attention_heads=num_heads,
            num_key_value_heads=config.integer("num_key_value_heads", num_heads),
            head_dim=head_dim,
            vocab_size=config.integer("vocab_size"),
            max_position_embeddings=config.integer("max_position_embeddings"),
            rms_norm_eps=self._rms_norm_eps(config),
            rope=rope,
            sliding_rope=sliding_rope,
            hidden_act=config.text(self.act_key, self.default_hidden_act),
            tie_word_embeddings=config.flag(
                "tie_word_embeddings", self.default_tie_word_embeddings
            ),
            attention_bias=self.read_attention_bias(config),
            mlp_bias=self.read_mlp_bias(config),
            sliding_window=sliding_window,
            layer_types=layer_types,
            dtype=str(config.value("dtype", config.value("torch_dtype", "float32"))),
            bos_token_id=next(iter(config.token_ids("bos_token_id")), None),
            eos_token_ids=config.token_ids("eos_token_id"),
            adapter_path=adapter_path,
            attention_multiplier=head_dim**-0.5,
        )
        spec = replace(spec, **self.read_differences(config))
        self._check_fixed_values(config)
        config.finish(self.ignored_keys)
        return spec.validate()

    def _check_fixed_values(self, config: ConfigReader) -> None:
        for name, wanted in self.fixed_values.items():
            if (found := config.value(name, wanted)) != wanted:
                raise UnsupportedError(
                    "{name} {found!r} is not implemented, only {wanted!r}.",
                    name=name,
                    found=found,
                    wanted=wanted,
                )

    def _read_ropes(self, config: ConfigReader, head_dim: int) -> tuple[RopeSpec, RopeSpec | None]:
        facts = RopeFacts(
            head_dim=head_dim,
            default_theta=self.default_rope_theta,
            partial_rotary=self.partial_rotary,
            default_partial_rotary_factor=self.default_partial_rotary_factor,
            default_sliding_theta=self.default_sliding_rope_theta,
            ignored_keys=self.ignored_rope_keys,
        )
        if self.sliding_rope:
            return read_ropes(config, facts)
        return read_rope(config, facts), None

    def _head_dim(self, config: ConfigReader, num_heads: int) -> int:
        explicit = config.count(self.head_dim_key, self.default_head_dim)
        if explicit is not None:
            return int(explicit)
        hidden_size = config.count("hidden_size")
        if hidden_size % num_heads:
            raise UnsupportedError(
                "hidden_size ({hidden_size}) is not a multiple of num_attention_heads "
                "({num_heads}) and head_dim is not given.",
                hidden_size=hidden_size,
                num_heads=num_heads,
            )
        return int(hidden_size // num_heads)

    def _rms_norm_eps(self, config: ConfigReader) -> float:
        if self.default_rms_norm_eps is None:
            return float(config.number(self.eps_key))
        return float(config.number(self.eps_key, self.default_rms_norm_eps))


def _num_layers(config: ConfigReader) -> int:
    """Checked before anything is made per layer: a damaged count would ask for any memory."""
    count = config.integer("num_hidden_layers")
    if not 0 < count <= _MAX_LAYERS:
        raise UnsupportedError(
            "num_hidden_layers must be 1 to {most}, not {count}.", most=_MAX_LAYERS, count=count
        )
    return int(count)


def architecture_of(config: ConfigReader) -> str:
    """The one entry of `architectures`."""
    names = config.value("architectures", [])
    if not isinstance(names, list) or len(names) != 1 or not isinstance(names[0], str):
        raise UnsupportedError(
            "architectures must name exactly one class, not {names}.", names=str(names)[:80]
        )
    return names[0]


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
        return window, read_layer_types(explicit)
    kinds = (
        LayerType.SLIDING if index >= first_sliding else LayerType.FULL
        for index in range(num_layers)
    )
    return window, tuple(kinds)


def uniform_window(config: ConfigReader, num_layers: int) -> Window:
    """Mistral's rule: one window for every layer, or none."""
    window = config.integer("sliding_window", None)
    return window, (LayerType.FULL if window is None else LayerType.SLIDING,) * num_layers


def periodic_window(
    config: ConfigReader, num_layers: int, period: int, default_window: int = 4096
) -> Window:
    """`layer_types`, or a full layer after every `period` - 1 sliding ones."""
    window = config.integer("sliding_window", default_window)
    explicit = config.value("layer_types", None)
    if explicit is not None:
        return window, read_layer_types(explicit)
    kinds = (
        LayerType.SLIDING if (index + 1) % period else LayerType.FULL for index in range(num_layers)
    )
    return window, tuple(kinds)


def listed_window(config: ConfigReader, num_layers: int) -> Window:
    """`layer_types` says it layer by layer; without it every layer sees the whole past."""
    window, explicit = config.integer("sliding_window", None), config.value("layer_types", None)
    if explicit is None:
        return None, (LayerType.FULL,) * num_layers
    return window, read_layer_types(explicit)


def read_layer_types(names: object) -> tuple[LayerType, ...]:
    """The list `layer_types` of a configuration; UnsupportedError for a kind that is not known."""
    if not isinstance(names, list):
        raise UnsupportedError("layer_types must be a list.")
    known = {str(kind) for kind in LayerType}
    for name in names:
        if name not in known:
            raise UnsupportedError("layer_types: {name!r} is not implemented.", name=name)
    return tuple(LayerType(name) for name in names)

"""What configurations with a mixture of experts have in common."""

from __future__ import annotations

from app.core.errors import UnsupportedError
from app.spec.config_reader import ConfigReader
from app.spec.layer_type import LayerType
from app.spec.moe_spec import MoeSpec
from app.spec.weight_names import WeightNames

# Of training alone.
MOE_IGNORED_KEYS = ("output_router_logits", "router_aux_loss_coef", "router_jitter_noise")
# Some folders store the experts as transformers 5 holds them, stacked and gate above up.
QWEN_MOE_NAMES = WeightNames(
    renamed={"mlp.router": "mlp.gate"},
    fused={"mlp.experts.*.gate_up_proj": ("mlp.experts.*.gate_proj", "mlp.experts.*.up_proj")},
)


def read_num_experts(config: ConfigReader) -> int:
    """`num_experts`, which transformers 5 writes as `num_local_experts`; refused when they differ.

    Raises UnsupportedError, also when both are absent.
    """
    first, second = (config.integer(n, None) for n in ("num_local_experts", "num_experts"))
    if first is None and second is None:
        raise UnsupportedError("config.json has neither num_local_experts nor num_experts.")
    if None not in (first, second) and first != second:
        raise UnsupportedError(
            "config.json says num_local_experts {first}, but num_experts {second}.",
            first=first,
            second=second,
        )
    return int(second if first is None else first)


def read_softmax_experts(
    config: ConfigReader,
    sparse_layers: tuple[bool, ...],
    *,
    norm_topk_prob: bool,
    has_shared: bool = False,
) -> MoeSpec:
    """Qwen's experts, chosen by softmax; `has_shared`: one gated expert that every token shares.

    `norm_topk_prob` is that of a silent configuration.
    """
    shared_size = config.integer("shared_expert_intermediate_size") if has_shared else 0
    return MoeSpec(
        num_experts=read_num_experts(config),
        num_experts_per_tok=config.integer("num_experts_per_tok"),
        moe_intermediate_size=config.integer("moe_intermediate_size"),
        sparse_layers=sparse_layers,
        norm_topk_prob=config.flag("norm_topk_prob", norm_topk_prob),
        shared_intermediate_size=shared_size,
        shared_expert_gate=has_shared,
    )


def every_layer(config: ConfigReader) -> tuple[bool, ...]:
    """All layers are sparse."""
    return (True,) * int(config.integer("num_hidden_layers"))


def stepped_layers(config: ConfigReader) -> tuple[bool, ...]:
    """Qwen's rule: the last of every `decoder_sparse_step` layers, except `mlp_only_layers`."""
    step, dense = config.integer("decoder_sparse_step", 1), config.numbers("mlp_only_layers")
    if step < 1:
        raise UnsupportedError("decoder_sparse_step must be positive, not {step}.", step=step)
    num_layers = config.integer("num_hidden_layers")
    return tuple(index not in dense and (index + 1) % step == 0 for index in range(int(num_layers)))


def switched_uniform_window(
    config: ConfigReader, num_layers: int
) -> tuple[int | None, tuple[LayerType, ...]]:
    """Qwen3-MoE's rule: `use_sliding_window` gates one window for all layers."""
    window = config.integer("sliding_window", None)
    config.integer("max_window_layers", None)  # published, but no part of the network
    if not config.flag("use_sliding_window", False) or window is None:
        return None, (LayerType.FULL,) * num_layers
    return window, (LayerType.SLIDING,) * num_layers

"""Half-real configurations: the real dimensions, with layers, vocabulary and experts trimmed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.sentence import Sentence
from app.spec.model_spec import ModelSpec
from app.spec.moe_spec import MoeSpec
from app.spec.registry import create_spec
from app.spec.weights import num_parameters
from app.validation.check import NotRunError

VOCAB_SIZE = 256
# Two layers of a 3B model have 200 million weights; beyond, the MLP is made narrower, too.
MAX_PARAMETERS = 240_000_000
_TOKEN_IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None}
_EXPERT_COUNTS = ("num_local_experts", "num_experts", "n_routed_experts")
_INNER_SIZES = (
    "intermediate_size",
    "moe_intermediate_size",
    "shared_expert_intermediate_size",
)
_DROPPED = ("torch_dtype", "num_nextn_predict_layers", "num_mtp_layers", "quantization_config")
_WIDTH_STEP = 64

Config = dict[str, Any]


@dataclass(frozen=True, slots=True)
class HalfReal:
    """`config` is that of a network of the real one's `layers`; `trimmed` says what is smaller."""

    config: Config
    layers: tuple[int, ...]
    trimmed: tuple[str, ...]


def create_half_real(config: Mapping[str, Any], spec: ModelSpec, layers: Sequence[int]) -> HalfReal:
    """Raises NotRunError where the trimmed configuration means other layers than the real one."""
    trimmed = {key: value for key, value in config.items() if key not in _DROPPED}
    trimmed |= _TOKEN_IDS | {
        "num_hidden_layers": len(layers),
        "vocab_size": min(VOCAB_SIZE, spec.vocab_size),
        "dtype": "float32",
    }
    trimmed |= _per_layer(config, spec, layers) | _experts(config, spec)
    trimmed |= _narrower(trimmed)
    found = create_spec(trimmed)
    kinds = [layer_kind(found, index) for index in range(len(layers))]
    if kinds != [layer_kind(spec, index) for index in layers]:
        raise NotRunError(Sentence("the layers cannot be trimmed without becoming others"))
    return HalfReal(trimmed, tuple(layers), tuple(_iter_changes(config, trimmed)))


def layer_kind(spec: ModelSpec, index: int) -> tuple[object, ...]:
    """What tells layers apart: what they see, how they embed positions, what their MLP is."""
    return spec.layer_types[index], spec.layer_rope(index) is None, spec.is_sparse(index)


def further_kinds(spec: ModelSpec, covered: Sequence[int]) -> tuple[int, ...]:
    """The first layer of each kind that `covered` layers do not have."""
    seen = {layer_kind(spec, index) for index in covered}
    found = []
    for index in range(spec.num_hidden_layers):
        kind = layer_kind(spec, index)
        if kind not in seen:
            seen.add(kind)
            found.append(index)
    return tuple(found)


def _per_layer(config: Mapping[str, Any], spec: ModelSpec, layers: Sequence[int]) -> Config:
    found: Config = {
        key: [value[index] for index in layers]
        for key, value in config.items()
        if "layer" in key and isinstance(value, list) and len(value) >= spec.num_hidden_layers
    }
    if len(set(spec.layer_types)) > 1:
        found["layer_types"] = [str(spec.layer_types[index]) for index in layers]
    if "no_rope_layer_interval" in config or spec.family == "smollm3":
        found["no_rope_layers"] = [int(spec.rope_layers[index]) for index in layers]
    if spec.moe is not None:
        found |= _sparse_layers(config, [spec.is_sparse(index) for index in layers])
    return found


def _sparse_layers(config: Mapping[str, Any], is_sparse: Sequence[bool]) -> Config:
    found: Config = {}
    dense = [index for index, sparse in enumerate(is_sparse) if not sparse]
    if "first_k_dense_replace" in config:
        found["first_k_dense_replace"] = len(dense)
    if (dense and "first_k_dense_replace" not in config) or "mlp_only_layers" in config:
        found["mlp_only_layers"] = dense
    if "decoder_sparse_step" in config:
        found["decoder_sparse_step"] = 1
    return found


def _experts(config: Mapping[str, Any], spec: ModelSpec) -> Config:
    if spec.moe is None:
        return {}
    count = _num_experts(spec.moe)
    return {key: count for key in _EXPERT_COUNTS if config.get(key) is not None}


def _num_experts(moe: MoeSpec) -> int:
    """Few, but more than are chosen, and at least two in each group."""
    per_group = max(2, math.ceil(moe.num_experts_per_tok / moe.topk_groups))
    fewest = moe.num_groups * per_group if moe.num_groups > 1 else moe.num_experts_per_tok + 2
    return min(moe.num_experts, fewest)


def _narrower(config: Config) -> Config:
    """Narrower MLPs where the network would have more than MAX_PARAMETERS weights."""
    sizes = {key: config[key] for key in _INNER_SIZES if config.get(key)}
    total = num_parameters(create_spec(config))
    if total <= MAX_PARAMETERS or not sizes:
        return {}
    rest = num_parameters(create_spec(config | dict.fromkeys(sizes, _WIDTH_STEP)))
    share = max(0.0, (MAX_PARAMETERS - rest) / max(1, total - rest))
    return {
        key: min(size, max(_WIDTH_STEP, int(size * share) // _WIDTH_STEP * _WIDTH_STEP))
        for key, size in sizes.items()
    }


def _iter_changes(before: Mapping[str, Any], after: Config) -> list[str]:
    keys = ("num_hidden_layers", "vocab_size", *_EXPERT_COUNTS, *_INNER_SIZES)
    changed = [key for key in keys if key in before and before[key] != after[key]]
    return [f"{key} {before[key]} -> {after[key]}" for key in changed]

"""Experts that a folder stacks in one tensor [experts, ...]: each gets a tensor of its own.

transformers stacks them in memory, and stores gpt-oss so: `mlp.experts.gate_up_proj` with
`gate_up_proj_bias`, dense [experts, in, out] (transposed), or as MXFP4 `gate_up_proj_blocks`
[experts, out, in / 32, 16] and `_scales` [experts, out, in / 32]. MLX stacks every family's, as
`mlp.switch_mlp.gate_proj.weight`, `.scales` ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from app.converter.sources.hf_folder import StoredArray
from app.spec.model_spec import ModelSpec
from app.spec.weight_names import WeightNames

_STACK = re.compile(
    r"(?P<block>.+\.layers\.(?P<layer>\d+)\.\w+)\.(?P<kind>experts|switch_mlp)"
    r"\.(?P<linear>[a-z]\w*?)(?P<array>\.\w+)?"
)
# Of a stack that is a parameter itself, not the weight of a module.
_ARRAYS = {"_bias": ".bias", "_blocks": ".blocks", "_scales": ".scales"}


def unstack_experts(
    tensors: Mapping[str, StoredArray], spec: ModelSpec, names: WeightNames
) -> dict[str, StoredArray]:
    """All tensors by name, where `mlp.experts.3.gate_up_proj.weight` is a piece of its stack.

    A piece keeps the name of its stack in `StoredArray.name`. A stack of another number of experts
    stays as it is, for the claims to refuse.
    """
    if spec.moe is None:
        return dict(tensors)
    return {
        name: array
        for stored_name, stored in tensors.items()
        for name, array in _pieces(stored_name, stored, spec.moe.num_experts, names)
    }


def _pieces(
    name: str, stored: StoredArray, num_experts: int, names: WeightNames
) -> Iterator[tuple[str, StoredArray]]:
    found = _STACK.fullmatch(name)
    is_stack = len(stored.shape) > 1 and stored.shape[0] == num_experts and stored.strides is None
    if found is None or not is_stack:
        yield name, stored
        return
    linear, array = found["linear"], found["array"] or ""
    if not array:
        suffix = next((suffix for suffix in _ARRAYS if linear.endswith(suffix)), "")
        linear, array = linear.removesuffix(suffix), _ARRAYS.get(suffix, ".weight")
    is_matrix = len(stored.shape) == 3 and array == ".weight" and not found["array"]
    is_transposed = names.transposed_experts and is_matrix
    for expert in range(num_experts):
        piece = _piece(stored, expert)
        stem = f"{found['block']}.experts.{expert}.{linear}"
        if found["kind"] == "switch_mlp":  # MLX has one set of words for all families
            stem = names.stem(f"layers.{found['layer']}.mlp.experts.{expert}.{linear}")
        yield f"{stem}{array}", _transpose(piece) if is_transposed else piece


def _piece(stored: StoredArray, expert: int) -> StoredArray:
    return replace(stored.part(slice(expert, expert + 1)), shape=stored.shape[1:])


def _transpose(piece: StoredArray) -> StoredArray:
    """[in, out] seen as [out, in]."""
    rows, columns = piece.shape[::-1]
    return replace(piece, shape=(rows, columns), strides=(1, rows))

"""config.json of an exported checkpoint: the model's own, with what its weights are.

compressed-tensors: quantization/quant_config.py. GPTQ: gptqmodel quantization/config.py; engines
read its `dynamic` rules by the names of fused linears too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from app import __version__
from app.converter.export_grid import ExportGrid
from app.converter.export_plan import ExportFormat, ExportPlan, fused_names
from app.spec.weight_names import LLAMA_NAMES

_FUSED_NAMES = {"q_proj": "qkv_proj", "gate_proj": "gate_up_proj"}


def create_config(config: Mapping[str, Any], plan: ExportPlan, dense: list[str]) -> dict[str, Any]:
    """`dense`: the canonical names of the linears that are not quantized."""
    is_gptq = plan.format is ExportFormat.GPTQ
    table = _gptq_table(plan, dense) if is_gptq else _compressed_tensors_table(plan, dense)
    key = "dtype" if "dtype" in config else "torch_dtype"
    return {**config, key: str(plan.dtype), "quantization_config": table}


def _compressed_tensors_table(plan: ExportPlan, dense: list[str]) -> dict[str, Any]:
    targets: dict[ExportGrid, list[str]] = {}
    for name, grid in plan.grids.items():
        targets.setdefault(grid, []).append(LLAMA_NAMES.stem(name))
    if len(targets) == 1:  # else all by name: a class beside names makes the library warn of them
        targets = {grid: ["Linear"] for grid in targets}
    groups = [_group(grid, names) for grid, names in targets.items()]
    return {
        "quant_method": "compressed-tensors",
        "format": "pack-quantized",
        "quantization_status": "compressed",
        "config_groups": {f"group_{index}": group for index, group in enumerate(groups)},
        "ignore": sorted({"lm_head", *(LLAMA_NAMES.stem(name) for name in dense)}),
        "kv_cache_scheme": None,
    }


def _group(grid: ExportGrid, targets: list[str]) -> dict[str, Any]:
    is_row = grid.group_size < 0
    weights = {
        "num_bits": grid.bits,
        "type": "int",
        "symmetric": grid.is_symmetric,
        "strategy": "channel" if is_row else "group",
        "group_size": None if is_row else grid.group_size,
        "dynamic": False,
    }
    return {
        "targets": targets,
        "weights": weights,
        "input_activations": None,
        "output_activations": None,
        "format": "pack-quantized",
    }


def _gptq_table(plan: ExportPlan, dense: list[str]) -> dict[str, Any]:
    most = _most_common(plan)
    others = {name: grid for name, grid in plan.grids.items() if grid != most}
    rules = {f"+:{_pattern(name)}": _gptq_settings(grid) for name, grid in others.items()}
    skipped: dict[str, Any] = {f"-:{_pattern(name)}": {} for name in dense if name != "lm_head"}
    return {
        "quant_method": "gptq",
        **_gptq_settings(most),
        "desc_act": plan.has_order,
        "lm_head": False,
        "checkpoint_format": "gptq" if plan.stores_zero_less_one else "gptq_v2",
        "pack_dtype": "int32",
        "dynamic": rules | skipped,
        "meta": {"quantizer": f"deepinfer:{__version__}"},
    }


def _gptq_settings(grid: ExportGrid) -> dict[str, Any]:
    return {"bits": grid.bits, "group_size": grid.group_size, "sym": grid.is_symmetric}


def _pattern(name: str) -> str:
    """Matches each linear of the fused set, and the name that engines give to the whole."""
    members = [LLAMA_NAMES.stem(member) for member in fused_names(name)]
    parent, _, first = members[0].rpartition(".")
    shorts = [member.rpartition(".")[2] for member in members]
    if first in _FUSED_NAMES:
        shorts.append(_FUSED_NAMES[first])
    return f"{re.escape(parent)}\\.(?:{'|'.join(shorts)})$"


def _most_common(plan: ExportPlan) -> ExportGrid:
    return Counter(plan.grids.values()).most_common(1)[0][0]

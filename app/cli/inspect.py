"""`deepinfer inspect`: what a source is, whether it runs here, and how much context would fit."""

from __future__ import annotations

import argparse
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from app.checkpoint.reader import Checkpoint
from app.cli.models import resolve_source
from app.cli.options import Subparsers, add_command
from app.cli.output import print_json, print_pairs, print_table
from app.converter.plan import DetailedPlan, Options, plan_in_detail
from app.converter.sources.detect import open_source
from app.core.errors import AppError
from app.core.paths import library_dir
from app.core.units import format_bytes
from app.engine.executors.factory import executor_class
from app.engine.fit import ExactSizes, MachineFit, fit_machine
from app.engine.memory_plan import FitRow
from app.engine.vram_plan import checkpoint_sizes, scheme_bytes
from app.hub.library import resolve
from app.spec.model_spec import ModelSpec
from app.spec.moe_spec import MoeSpec
from app.spec.registry import create_spec
from app.spec.weights import has_bias


@dataclass(frozen=True, slots=True)
class _Finding:
    """`status` is the verdict: supported (runs as it is) | convert (runs after a conversion)."""

    format: str
    status: str
    reason: str
    spec: ModelSpec
    fit: MachineFit


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `inspect`."""
    parser = add_command(subparsers, "inspect", run, "Say what a source is and whether it runs.")
    parser.add_argument("source", metavar="SOURCE", help="a file, a folder or a library name")


def run(args: argparse.Namespace) -> None:
    """Inspects and prints; a refusal is printed as verdict and raised."""
    try:
        finding = _inspect(args.source)
    except AppError as error:
        if args.json:
            print_json(_to_refusal(error))
        raise
    if args.json:
        print_json(_to_document(finding))
    else:
        _print(finding)


def _inspect(text: str) -> _Finding:
    native = resolve(text, library_dir())
    return _inspect_source(resolve_source(text)) if native is None else _inspect_native(native)


def _inspect_native(path: Path) -> _Finding:
    with Checkpoint.open(path, verify=False) as checkpoint:
        spec = create_spec(checkpoint.config)
        in_memory = executor_class("cpu").plan_weights_bytes(checkpoint, spec)
        exact = ExactSizes(in_memory, checkpoint_sizes(checkpoint))
        fit = fit_machine(spec, exact)
    # The other rows are about converting to other grids, and this one is converted.
    as_stored = replace(fit, rows=[row for row in fit.rows if row.grid == "exact"])
    return _Finding("native", "supported", "It is a native checkpoint.", spec, as_stored)


def _inspect_source(path: Path) -> _Finding:
    with closing(open_source(path)) as source:
        detail = plan_in_detail(source, path, Options())
        spec = create_spec(source.config)
    plan, exact = detail.summary, None
    if plan.grid == "exact":
        exact = ExactSizes(detail.memory_bytes, partial(_planned_size, spec, detail))
    fit = fit_machine(spec, exact)
    return _Finding(plan.format, "convert", "It runs after conversion.", spec, fit)


def _planned_size(spec: ModelSpec, detail: DetailedPlan, name: str, shape: tuple[int, int]) -> int:
    return scheme_bytes(detail.linears[name].quant, shape, has_bias(spec, name))


def _to_refusal(error: AppError) -> dict[str, Any]:
    verdict = {"status": "refused", "reason": error.message}
    unknown = dict.fromkeys(("format", "architecture", "spec", "device"))
    return {**unknown, "verdict": verdict, "fit": []}


def _to_document(finding: _Finding) -> dict[str, Any]:
    return {
        "format": finding.format,
        "architecture": finding.spec.architecture,
        "spec": asdict(finding.spec),
        "verdict": {"status": finding.status, "reason": finding.reason},
        "device": {"name": finding.fit.device, "note": finding.fit.note},
        "fit": [asdict(row) for row in finding.fit.rows],
    }


def _linear_pairs(spec: ModelSpec) -> list[tuple[str, str]]:
    delta = spec.delta_net
    if delta is None:
        return []
    count = spec.num_hidden_layers - spec.num_cached_layers
    heads = f"{delta.linear_num_value_heads} heads of {delta.linear_value_head_dim}"
    state = f"{spec.state_bytes / (1 << 20):.1f} MiB a conversation"
    return [("linear layers", f"{count}, {heads}; their state takes {state}")]


def _expert_pairs(moe: MoeSpec | None) -> list[tuple[str, str]]:
    if moe is None:
        return []
    running = f"{moe.num_experts_per_tok} of {moe.num_experts} for a token"
    return [("experts", f"{running}, MLP {moe.moe_intermediate_size}")]


def _print(finding: _Finding) -> None:
    spec = finding.spec
    print_pairs(
        [
            ("format", finding.format),
            ("verdict", finding.reason),
            ("architecture", spec.architecture),
            ("layers", spec.num_hidden_layers),
            ("hidden size", f"{spec.hidden_size}, MLP {spec.intermediate_size}"),
            *_linear_pairs(spec),
            *_expert_pairs(spec.moe),
            (
                "heads",
                f"{spec.num_attention_heads} of {spec.head_dim}, KV {spec.num_key_value_heads}",
            ),
            ("vocabulary", spec.vocab_size),
            ("trained context", spec.max_position_embeddings),
            ("rope", f"{spec.rope.rope_type}, theta {spec.rope.theta:g}"),
            ("device", finding.fit.note),
        ]
    )
    print()
    print_table(
        ("GRID", "WEIGHTS", "KV PER TOKEN", "CONTEXT THAT FITS", "WITH INT8 KV"),
        _to_rows(finding.fit.rows),
    )


def _to_rows(fit: list[FitRow]) -> list[tuple[str, ...]]:
    return [
        (
            row.grid,
            format_bytes(row.weights_bytes),
            format_bytes(row.kv_bytes_per_token),
            f"{row.max_context} tokens",
            f"{row.max_context_int8_kv} tokens",
        )
        for row in fit
    ]

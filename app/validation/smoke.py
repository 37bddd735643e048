"""The smoke matrix: half-real networks with random weights, in every way of running them."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.validation_events import CheckProgressed
from app.validation.agreement import Agreement, run_network
from app.validation.check import NotRunError, Outcome
from app.validation.context import Context
from app.validation.half_real import create_half_real, further_kinds
from app.validation.random_network import create_network

_NUM_TOKENS = 24
_RUNS = {"whole": (24,), "chunks": (10, 10, 4), "decode": (20, 1, 1, 1, 1)}


def check_one_layer(context: Context) -> Outcome:
    """The first layer."""
    return _check(context, "smoke_one_layer", (0,))


def check_two_layers(context: Context) -> Outcome:
    """The first two layers."""
    if context.needed_spec.num_hidden_layers < 2:
        raise NotRunError("the model has one layer")
    return _check(context, "smoke_two_layers", (0, 1))


def check_other_kinds(context: Context) -> Outcome:
    """One layer of each kind that the first two are not of, one above the other."""
    layers = further_kinds(context.needed_spec, (0, 1)[: context.needed_spec.num_hidden_layers])
    if not layers:
        raise NotRunError("the first two layers are of all kinds that there are")
    return _check(context, "smoke_other_kinds", layers)


def _check(context: Context, row: str, layers: Sequence[int]) -> Outcome:
    reference = context.needed_reference
    half_real = create_half_real(context.subject.config, context.needed_spec, layers)
    context.emit(CheckProgressed(row, "random weights, saved and converted"))
    folder = context.scratch / row
    network = create_network(reference, half_real.config, _NUM_TOKENS, folder, context.cancel)
    context.emit(CheckProgressed(row, "both executors"))
    found = run_network(network, _RUNS, context.cancel)
    context.drop(folder)
    which = ", ".join(map(str, layers))
    trimmed = "; ".join(half_real.trimmed) or "nothing trimmed"
    return summarise(found, f"layers {which} ({trimmed}), {_NUM_TOKENS} tokens")


def summarise(found: Sequence[Agreement], subject: str) -> Outcome:
    """The worst of all runs decides."""
    worst = max(found, key=lambda agreement: agreement.error)
    figures = f"largest error {worst.max_abs_error:.2g}, smallest cosine {worst.cosine:.6f}"
    metrics = {
        f"{agreement.run}, {name}": value
        for agreement in found
        for name, value in (
            ("max_abs_error", agreement.max_abs_error),
            ("cosine", agreement.cosine),
        )
    }
    far = [agreement.run for agreement in found if not agreement.is_close]
    if far:
        return Outcome(
            False, f"{subject}: {', '.join(far)} differ from transformers; {figures}.", metrics
        )
    runs = ", ".join(dict.fromkeys(agreement.run.partition(", ")[2] for agreement in found))
    return Outcome(True, f"{subject}; {runs} in both executors: {figures}.", metrics)

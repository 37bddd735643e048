"""The smoke matrix: half-real networks with random weights, in every way of running them."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.sentence import Sentence, listing
from app.core.validation_events import CheckProgressed
from app.validation.agreement import Agreement, run_network
from app.validation.check import NotRunError, Outcome
from app.validation.context import Context
from app.validation.half_real import create_half_real, further_kinds
from app.validation.random_network import create_network

_NUM_TOKENS = 24
_RUNS: dict[str, tuple[int, ...]] = {
    Sentence("whole"): (24,),
    Sentence("chunks"): (10, 10, 4),
    Sentence("decode"): (20, 1, 1, 1, 1),
}


def check_one_layer(context: Context) -> Outcome:
    """The first layer."""
    return _check(context, "smoke_one_layer", (0,))


def check_two_layers(context: Context) -> Outcome:
    """The first two layers."""
    if context.needed_spec.num_hidden_layers < 2:
        raise NotRunError(Sentence("the model has one layer"))
    return _check(context, "smoke_two_layers", (0, 1))


def check_other_kinds(context: Context) -> Outcome:
    """One layer of each kind that the first two are not of, one above the other."""
    layers = further_kinds(context.needed_spec, (0, 1)[: context.needed_spec.num_hidden_layers])
    if not layers:
        raise NotRunError(Sentence("the first two layers are of all kinds that there are"))
    return _check(context, "smoke_other_kinds", layers)


def _check(context: Context, row: str, layers: Sequence[int]) -> Outcome:
    reference = context.needed_reference
    half_real = create_half_real(context.subject.config, context.needed_spec, layers)
    context.emit(CheckProgressed(row, Sentence("random weights, saved and converted")))
    folder = context.scratch / row
    network = create_network(reference, half_real.config, _NUM_TOKENS, folder, context.cancel)
    context.emit(CheckProgressed(row, Sentence("both executors")))
    found = run_network(network, _RUNS, context.cancel)
    context.drop(folder)
    which = ", ".join(map(str, layers))
    trimmed = "; ".join(half_real.trimmed) or Sentence("nothing trimmed")
    return summarise(
        found,
        Sentence(
            "layers {which} ({trimmed}), {num_tokens} tokens",
            which=which,
            trimmed=trimmed,
            num_tokens=_NUM_TOKENS,
        ),
    )


def summarise(found: Sequence[Agreement], subject: str) -> Outcome:
    """The worst of all runs decides."""
    worst = max(found, key=lambda agreement: agreement.error)
    figures = Sentence(
        "largest error {max_abs_error:.2g}, smallest cosine {cosine:.6f}",
        max_abs_error=worst.max_abs_error,
        cosine=worst.cosine,
    )
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
            False,
            Sentence(
                "{subject}: {far} differ from transformers; {figures}.",
                subject=subject,
                far=", ".join(far),
                figures=figures,
            ),
            metrics,
        )
    ways = dict.fromkeys(agreement.run.partition(", ")[2] for agreement in found)
    runs = listing(map(Sentence, ways))
    return Outcome(
        True,
        Sentence(
            "{subject}; {runs} in both executors: {figures}.",
            subject=subject,
            runs=runs,
            figures=figures,
        ),
        metrics,
    )

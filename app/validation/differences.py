"""The difference analysis: three lists, before anything runs.

The model's list compares the ModelSpec with what transformers' module really has; the two others
compare how the engine feeds and stops a model with what the reference would do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.core.errors import InvalidSourceError
from app.core.sentence import Sentence, clauses
from app.core.validation_events import (
    Check,
    CheckStatus,
    Difference,
    DifferenceList,
    DifferencesFound,
    DifferenceState,
)
from app.spec.model_spec import ModelSpec
from app.spec.registry import create_spec, weight_names
from app.spec.text_part import text_config, wrapper_of
from app.validation.accounting import account_reference
from app.validation.check import NotRunError, Outcome
from app.validation.context import Context
from app.validation.generation_facts import compare_generation
from app.validation.half_real import create_half_real, further_kinds
from app.validation.nearest_family import find_nearest
from app.validation.published import published_shapes
from app.validation.reference_facts import reference_facts
from app.validation.rope_tables import compare_ropes, describe_rope, trained_length
from app.validation.spec_facts import NONE, spec_facts

# What asking a module of another build ends in.
_FOREIGN = (AttributeError, KeyError, RuntimeError, StopIteration, TypeError, ValueError)
_UNSAID = Sentence("the module does not say")
_CAUSAL = Sentence("causal")
# Entries that the half-real networks confirm by running.
_RUN_ENTRIES = {
    Sentence("prefill and decode"): Sentence("prefill, then a token a step from the cache"),
    Sentence("chunked prefill"): Sentence("chunks of any size, later ones see earlier ones"),
    Sentence("key/value cache"): Sentence("one slot a sequence, by position; windows are masked"),
}
_SMOKE_ROWS = ("smoke_one_layer", "smoke_two_layers", "smoke_other_kinds")


def check_model(context: Context) -> Outcome:
    """Attention, norms, MLP, rope, embeddings, names of weights.

    Of a refused configuration the nearest family's reading is compared: what a new one must say.
    """
    if context.spec is None:
        return _compare_nearest(context)
    entries = [*_compare_facts(context), _compare_rope(context), _compare_names(context)]
    return _conclude(context, DifferenceList.MODEL, entries)


def check_data(context: Context) -> Outcome:
    """Position ids, mask, padding, and inputs that are no text."""
    _require_spec(context)
    config = context.subject.raw_config
    axes = any("mrope_section" in rope for rope in _ropes(config))
    wrapper = wrapper_of(config)
    entries = [
        _entry(
            Sentence("position ids"),
            Sentence("1-D, one a token"),
            Sentence("3-D; the three are equal in text") if axes else Sentence("1-D, one a token"),
            DifferenceState.SAME,
        ),
        _compare_mask(context),
        _entry(
            Sentence("padding"),
            Sentence("none: each sequence has a slot of its own"),
            Sentence("none for a single sequence"),
            DifferenceState.SAME,
        ),
        _entry(
            Sentence("inputs beside text"),
            NONE
            if wrapper is None
            else Sentence("none: the language model of {wrapper} alone", wrapper=wrapper),
            NONE if wrapper is None else Sentence("images; the text's part is compared"),
            DifferenceState.SAME,
        ),
    ]
    return _conclude(context, DifferenceList.DATA, entries)


def check_generation(context: Context) -> Outcome:
    """Prefill, decode, cache, stop tokens."""
    _require_spec(context)
    run = [
        _entry(name, ours, Sentence("to be run by the half-real rows"), DifferenceState.UNCONFIRMED)
        for name, ours in _RUN_ENTRIES.items()
    ]
    return _conclude(context, DifferenceList.GENERATION, [*run, *compare_generation(context)])


def settle(differences: Sequence[Difference], checks: Sequence[Check]) -> list[Difference]:
    """With what running the half-real networks has confirmed."""
    rows = {check.name: check for check in checks if check.name in _SMOKE_ROWS}
    ran = [check for check in rows.values() if check.status is not CheckStatus.NOT_RUN]
    if not ran:
        return list(differences)
    good = all(check.status is CheckStatus.PASS for check in ran)
    state = DifferenceState.SAME if good else DifferenceState.DIFFERENT
    word = (
        Sentence("the logits are transformers'")
        if good
        else Sentence("the logits are not transformers'")
    )
    return [
        replace(entry, state=state, reference=word) if entry.name in _RUN_ENTRIES else entry
        for entry in differences
    ]


def _require_spec(context: Context) -> ModelSpec:
    """Raises NotRunError for what was refused."""
    return context.needed_spec


def _conclude(context: Context, kind: DifferenceList, entries: Sequence[Difference]) -> Outcome:
    entries = [replace(entry, list=kind) for entry in entries]
    context.differences += entries
    context.emit(DifferencesFound(tuple(entries)))
    counts = {
        state.value: sum(entry.state is state for entry in entries) for state in DifferenceState
    }
    different = [entry for entry in entries if entry.state is DifferenceState.DIFFERENT]
    if different:
        listed = clauses(
            Sentence(
                "{name}: ours {ours}, reference {reference}",
                name=entry.name,
                ours=entry.ours,
                reference=entry.reference,
            )
            for entry in different
        )
        return Outcome(False, Sentence("{faults}.", faults=listed), counts)
    same = Sentence("{same} entries are the same.", same=counts["same"])
    if counts["unconfirmed"]:
        same = Sentence("{same} entries are the same, {unconfirmed} unconfirmed.", **counts)
    return Outcome(True, same, counts)


def _compare_facts(context: Context) -> list[Difference]:
    config = context.subject.config
    # Embeddings are multiplied with a number of the model's dtype; the reference is float32.
    spec = create_spec({**config, "dtype": "float32", "torch_dtype": "float32"})
    theirs = reference_facts(context.needed_reference.create_on_meta(config))
    return [
        _compare(name, ours, theirs.get(name))
        for name, ours in spec_facts(spec, weight_names(config)).items()
    ]


def _compare_nearest(context: Context) -> Outcome:
    config, reference = text_config(context.subject.raw_config), context.needed_reference
    try:
        theirs = reference_facts(reference.create_on_meta(config))
    except _FOREIGN as error:
        raise NotRunError(
            Sentence(
                "the configuration was refused, and transformers' module is no decoder as known "
                "({kind})",
                kind=type(error).__name__,
            )
        ) from error
    nearest = find_nearest(config, theirs)
    if nearest is None:
        raise NotRunError(Sentence("the configuration was refused, and no family can read it"))
    entries = [_compare(name, ours, theirs.get(name)) for name, ours in nearest.facts.items()]
    entries += [
        _entry(
            Sentence("keys"),
            Sentence("{family} knows all others", family=nearest.family),
            said,
            DifferenceState.DIFFERENT,
        )
        for said in nearest.unknown
    ]
    found = _conclude(context, DifferenceList.MODEL, entries)
    sentence = Sentence(
        "the configuration was refused; the nearest family is {family}: {different} of {count} "
        "entries differ from it.",
        family=nearest.family,
        different=found.metrics["different"],
        count=len(entries),
    )
    return Outcome(None, sentence, found.metrics)


def _compare(name: str, ours: str, reference: str | None) -> Difference:
    if reference is None:
        return _entry(name, ours, _UNSAID, DifferenceState.UNCONFIRMED)
    is_same = ours == reference
    state = DifferenceState.SAME if is_same else DifferenceState.DIFFERENT
    return _entry(name, ours, reference, state)


def _compare_rope(context: Context) -> Difference:
    spec, length = context.needed_spec, trained_length(context.needed_spec)
    ours = describe_rope(spec)
    found = compare_ropes(context.needed_reference, context.subject.config, spec, length)
    far = [one for one in found if not one.is_close]
    if far:
        return _entry(Sentence("rope"), ours, far[0].fault, DifferenceState.DIFFERENT)
    return _entry(
        Sentence("rope"),
        ours,
        Sentence("the same tables at length {length}", length=length),
        DifferenceState.SAME,
    )


def _compare_names(context: Context) -> Difference:
    """The tensors that transformers would publish, claimed as a folder's."""
    spec = context.needed_spec
    first = (0, 1)[: spec.num_hidden_layers]
    layers = (*first, *further_kinds(spec, first))
    half_real = create_half_real(context.subject.config, spec, layers)
    shapes = published_shapes(context.needed_reference, half_real.config)
    ours = Sentence("the tensors of {num_layers} layers", num_layers=len(layers))
    try:
        account_reference(half_real.config, shapes)
    except InvalidSourceError as fault:
        return _entry(
            Sentence("weight names and shapes"), ours, fault.message, DifferenceState.DIFFERENT
        )
    return _entry(
        Sentence("weight names and shapes"),
        ours,
        Sentence("{num_tensors} tensors", num_tensors=len(shapes)),
        DifferenceState.SAME,
    )


def _compare_mask(context: Context) -> Difference:
    """transformers' attention modules of decoders say it of themselves."""
    ours = _CAUSAL
    if context.reference is None:
        return _entry(
            Sentence("mask"), ours, Sentence("there is no reference"), DifferenceState.UNCONFIRMED
        )
    model = context.reference.create_on_meta(context.subject.config)
    flags = {module.is_causal for module in model.modules() if hasattr(module, "is_causal")}
    if flags == {True}:
        return _entry(Sentence("mask"), ours, _CAUSAL, DifferenceState.SAME)
    state = DifferenceState.DIFFERENT if False in flags else DifferenceState.UNCONFIRMED
    return _entry(
        Sentence("mask"), ours, Sentence("not causal") if False in flags else _UNSAID, state
    )


def _ropes(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    places = (config, config.get("text_config") or {})
    found = [place.get(key) for place in places for key in ("rope_scaling", "rope_parameters")]
    return [rope for rope in found if isinstance(rope, dict)]


def _entry(name: str, ours: str, reference: str, state: DifferenceState) -> Difference:
    """The list is filled in by `_conclude`."""
    return Difference(DifferenceList.MODEL, name, state, ours, reference)

"""Positions beyond the window and the trained length, on a narrow network with the real rope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from app.core.sentence import Sentence, clauses, listing
from app.core.validation_events import CheckProgressed
from app.spec.model_spec import ModelSpec
from app.spec.rope import RopeType
from app.validation.agreement import run_network
from app.validation.check import Outcome
from app.validation.context import Context
from app.validation.half_real import create_half_real, further_kinds
from app.validation.random_network import create_network
from app.validation.rope_tables import trained_length
from app.validation.smoke import summarise

# Attention is quadratic; published windows and trained lengths that matter are 4096 at most.
MAX_TOKENS = 4400
_PLAIN_TOKENS = 1024
_BEYOND = 24
_SMALL_WINDOW = 40
_KEPT = 16
_CHUNK, _LAST_STEPS = 512, 4
_INNER_SIZE = 64
_LENGTH_RULES = (RopeType.LONGROPE, RopeType.DYNAMIC)


def check_long_position(context: Context) -> Outcome:
    """One layer of each kind; the last tokens are compared."""
    spec = context.needed_spec
    config = _narrow_config(context, spec)
    window, trained = spec.sliding_window, trained_length(spec)
    crossed, missed = [], []
    if window and window + _BEYOND > MAX_TOKENS:
        config["sliding_window"] = _SMALL_WINDOW
        crossed.append(
            Sentence("a window of {small} in place of {window}", small=_SMALL_WINDOW, window=window)
        )
    elif window:
        crossed.append(Sentence("the window of {window}", window=window))
    if trained + _BEYOND <= MAX_TOKENS:
        crossed.append(Sentence("the trained length of {trained}", trained=trained))
    elif spec.rope.rope_type in _LENGTH_RULES:
        missed.append(
            Sentence(
                "the trained length of {trained} (its tables are compared above)", trained=trained
            )
        )
    if not all(spec.layer_rope(index) for index in range(spec.num_hidden_layers)):
        crossed.append(Sentence("layers with and without rope"))
    count = _num_tokens(config, spec, trained)
    folder = context.scratch / "long_position"
    context.emit(CheckProgressed("long_position", Sentence("{count} tokens", count=count)))
    network = create_network(
        context.needed_reference, config, count, folder, context.cancel, kept=_KEPT
    )
    found = run_network(network, {Sentence("chunks and decode"): _chunks(count)}, context.cancel)
    context.drop(folder)
    return summarise(found, clauses(_subject(count, crossed, missed)))


def _subject(count: int, crossed: Sequence[str], missed: Sequence[str]) -> Iterator[str]:
    yield Sentence("{count} tokens", count=count)
    if crossed:
        yield Sentence("crossed: {what}", what=listing(crossed))
    else:
        yield Sentence("there is nothing to cross")
    if missed:
        yield Sentence("not crossed: {what}", what=listing(missed))


def _narrow_config(context: Context, spec: ModelSpec) -> dict[str, Any]:
    """Two heads of the real size; the rope, the windows and the kinds of layers are the real."""
    layers = (0, *further_kinds(spec, (0,)))
    config = create_half_real(context.subject.config, spec, layers).config
    sizes = ("intermediate_size", "moe_intermediate_size", "shared_expert_intermediate_size")
    return config | {
        "hidden_size": 2 * spec.head_dim,
        "num_attention_heads": 2,
        "num_key_value_heads": 1 if spec.mla is None else 2,
        **{key: _INNER_SIZE for key in sizes if config.get(key)},
    }


def _num_tokens(config: dict[str, Any], spec: ModelSpec, trained: int) -> int:
    """Beyond the window, and beyond the trained length where that is near."""
    needed = [_PLAIN_TOKENS]
    if spec.sliding_window:
        needed.append(config["sliding_window"] + _BEYOND)
    if trained + _BEYOND <= MAX_TOKENS:
        needed.append(trained + _BEYOND)
    return min(max(needed), spec.max_position_embeddings)


def _chunks(count: int) -> list[int]:
    whole = count - _LAST_STEPS
    full, rest = divmod(whole, _CHUNK)
    return [_CHUNK] * full + ([rest] if rest else []) + [1] * _LAST_STEPS

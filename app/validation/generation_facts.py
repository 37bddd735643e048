"""Where generation begins and stops: the engine's token ids against those that were published."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from app.core.sentence import Sentence
from app.core.validation_events import Difference, DifferenceList, DifferenceState
from app.engine.tokenizer import Tokenizer
from app.validation.context import Context
from app.validation.spec_facts import joined
from app.validation.texts import find_tokenizer, read_generation_config

_UNSAID = Sentence("nothing is published")


def compare_generation(context: Context) -> list[Difference]:
    """The ids that end a reply, and the one that begins a prompt."""
    tokenizer = find_tokenizer(context)
    return [_compare_stop(context, tokenizer), _compare_start(context, tokenizer)]


def stop_ids(context: Context, tokenizer: Tokenizer | None) -> set[int]:
    """The ids at which the engine stops: the configuration's and the tokenizer's."""
    of_tokenizer = () if tokenizer is None else tokenizer.eos_token_ids
    return {*context.needed_spec.eos_token_ids, *of_tokenizer}


def _compare_stop(context: Context, tokenizer: Tokenizer | None) -> Difference:
    """transformers stops at generation_config.json's ids, without that file at config.json's."""
    ours = stop_ids(context, tokenizer)
    published = read_generation_config(context) or {}
    wanted = published.get("eos_token_id", context.subject.raw_config.get("eos_token_id"))
    theirs = set(wanted if isinstance(wanted, list) else [wanted]) - {None}
    if not theirs:
        return _entry(Sentence("stop tokens"), _listed(ours), _UNSAID, DifferenceState.UNCONFIRMED)
    state = DifferenceState.SAME if theirs <= ours else DifferenceState.DIFFERENT
    return _entry(Sentence("stop tokens"), _listed(ours), _listed(theirs), state)


def _compare_start(context: Context, tokenizer: Tokenizer | None) -> Difference:
    """Many models have a bos that no prompt begins with; only two different ones are a fault."""
    configured = context.needed_spec.bos_token_id
    found = None if tokenizer is None else tokenizer.bos_token_id
    ours = str(configured if found is None else found)
    if configured is None or found is None:
        text = _UNSAID if configured is None else str(configured)
        return _entry(Sentence("start token"), ours, text, DifferenceState.UNCONFIRMED)
    state = DifferenceState.SAME if configured == found else DifferenceState.DIFFERENT
    return _entry(Sentence("start token"), ours, str(configured), state)


def _listed(ids: Collection[Any]) -> str:
    return joined(str(token_id) for token_id in sorted(ids))


def _entry(name: str, ours: str, reference: str, state: DifferenceState) -> Difference:
    return Difference(DifferenceList.GENERATION, name, state, ours, reference)

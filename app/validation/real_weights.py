"""The real weights: a text's perplexity, and logits and greedy tokens beside transformers'."""

from __future__ import annotations

import inspect
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.converter.pipeline import convert
from app.core.conversion_events import ConversionReport
from app.core.paths import resources_dir
from app.core.sentence import Sentence
from app.core.units import format_bytes
from app.core.validation_events import CheckProgressed
from app.engine.evaluation import evaluate
from app.engine.executors.base import Executor, SequenceChunk
from app.engine.memory_plan import available_memory_bytes
from app.engine.text_evaluation import read_text
from app.spec.weights import num_parameters
from app.validation.agreement import EXECUTORS, Agreement, compare, opened_executor, run_chunks
from app.validation.check import NotRunError, Outcome
from app.validation.context import Context, RealReference
from app.validation.random_network import Tokens, reference_logits
from app.validation.reference_weights import is_independent, load_reference
from app.validation.smoke import summarise
from app.validation.texts import load_tokenizer

PROMPT = "The capital of France is Paris. The capital of Japan is Tokyo. The capital of Italy is"
NUM_GREEDY = 32
_NUM_EVALUATED, _WINDOW = 384, 384
# Of a text's own frequencies: a model that reads does far better than one that only counts.
_SANE_SHARE = 0.5
# Two candidates nearer than this, in logits, are a tie that rounding decides.
_TIE = 2e-3
_FLOAT_BYTES = 4
_SPARE = 1.25


@dataclass(frozen=True, slots=True)
class Prepared:
    """The checkpoint to run; `tokens` int32 [n] of the prompt."""

    checkpoint: Path
    tokens: Tokens


def check_plausible(context: Context) -> Outcome:
    """Perplexity of the bundled text, on the cpu executor: what no wrong reader comes through."""
    prepared = _prepare(context, "real_plausible")
    text = read_text(resources_dir() / "eval" / "alice.txt")
    ids = load_tokenizer(context).encode(text, add_special_tokens=False, parse_special=False)
    ids = ids[:_NUM_EVALUATED]
    with opened_executor("cpu", prepared.checkpoint, _WINDOW) as executor:
        found = evaluate(executor, ids, _WINDOW, cancel=context.cancel)
    counting = _counting_perplexity(ids)
    metrics = {"perplexity": found.perplexity, "of_counting": counting, "tokens": found.tokens}
    figures = Sentence(
        "perplexity {perplexity:.4g} on {tokens} tokens of the bundled text",
        perplexity=found.perplexity,
        tokens=found.tokens,
    )
    if not found.perplexity <= _SANE_SHARE * counting:
        sentence = Sentence(
            "{figures}: who only counts its tokens reaches {counting:.4g}.",
            figures=figures,
            counting=counting,
        )
        return Outcome(False, sentence, metrics)
    return Outcome(
        True,
        Sentence("{figures}, counting alone {counting:.4g}.", figures=figures, counting=counting),
        metrics,
    )


def check_logits(context: Context) -> Outcome:
    """Both executors, the prompt whole and in chunks."""
    prepared = _prepare(context, "real_logits")
    wanted = _run_reference(context, prepared)
    context.real_reference = wanted
    count = len(prepared.tokens)
    found: list[Agreement] = []
    for kind in EXECUTORS:
        context.cancel.check()
        context.emit(CheckProgressed("real_logits", Sentence("{kind} executor", kind=kind)))
        with opened_executor(kind, prepared.checkpoint, count) as executor:
            for run, sizes in {
                "whole": [count],
                "chunks": [count // 2, count - count // 2],
            }.items():
                got = run_chunks(executor, prepared.tokens, sizes, count, context.cancel)
                found.append(compare(f"{kind}, {run}", got, wanted.logits))
    reader = (
        Sentence("read by transformers itself")
        if is_independent(context.subject)
        else Sentence("as we decode")
    )
    return summarise(
        found, Sentence("{count} tokens, weights {reader}", count=count, reader=reader)
    )


def check_greedy(context: Context) -> Outcome:
    """The tokens after the prompt, one at a time from the cache."""
    prepared = _prepare(context, "real_greedy")
    wanted = context.real_reference or _run_reference(context, prepared)
    with opened_executor("cpu", prepared.checkpoint, len(prepared.tokens) + NUM_GREEDY) as executor:
        got = _greedy(executor, prepared.tokens, context)
    same = next(
        (i for i, (a, b) in enumerate(zip(got, wanted.tokens, strict=True)) if a != b), NUM_GREEDY
    )
    metrics = {"same": same, "tokens": NUM_GREEDY}
    text = load_tokenizer(context).decode(got)
    if same == NUM_GREEDY:
        return Outcome(
            True,
            Sentence("{num_tokens} tokens are equal: {text!r}.", num_tokens=NUM_GREEDY, text=text),
            metrics,
        )
    margin = wanted.margins[same]
    if margin < _TIE:
        sentence = Sentence(
            "{same} tokens are equal, then two are tied (logits {margin:.2g} apart).",
            same=same,
            margin=margin,
        )
        return Outcome(True, sentence, metrics)
    return Outcome(
        False,
        Sentence(
            "Token {number} differs (logits {margin:.2g} apart): {text!r}.",
            number=same + 1,
            margin=margin,
            text=text,
        ),
        metrics,
    )


def _prepare(context: Context, row: str) -> Prepared:
    """Converts once; raises NotRunError for what has no weights or does not fit."""
    subject, spec = context.subject, context.needed_spec
    if not subject.has_weights:
        raise NotRunError(Sentence("only config.json was given"))
    if subject.fault is not None:
        raise NotRunError(Sentence("the weights were refused"))
    needed = int(num_parameters(spec) * _FLOAT_BYTES * _SPARE)
    free = min(available_memory_bytes(), shutil.disk_usage(context.scratch).free)
    if needed > free:
        sizes = Sentence(
            "{needed} are needed, {free} are free",
            needed=format_bytes(needed),
            free=format_bytes(free),
        )
        raise NotRunError(Sentence("in float32 the model does not fit: {sizes}", sizes=sizes))
    tokens = np.asarray(load_tokenizer(context).encode(PROMPT), np.int32)
    if subject.checkpoint is not None:
        assert subject.path is not None
        return Prepared(subject.path, tokens)
    return Prepared(_convert(context, row), tokens)


def _convert(context: Context, row: str) -> Path:
    """As it is stored where that is exact, else densely."""
    source = context.subject.source
    assert source is not None
    output = context.scratch / "real"
    if output.is_dir():
        return output
    context.emit(CheckProgressed(row, "conversion"))
    report = _convert_to(context, output, "exact" if source.is_quantized else "dense")
    if not report.lossless:
        shutil.rmtree(output)
        _convert_to(context, output, "dense")
    return output


def _convert_to(context: Context, output: Path, grid: str) -> ConversionReport:
    source = context.subject.source
    assert source is not None
    return convert(source.path, output, grid=grid, cancel=context.cancel, allow_lossy=True)


def _run_reference(context: Context, prepared: Prepared) -> RealReference:
    reference = context.needed_reference
    context.emit(CheckProgressed("real_logits", "transformers"))
    model = load_reference(context.subject, reference, context.cancel)
    logits = reference_logits(model, prepared.tokens)
    found = RealReference(logits)
    _continue(model, prepared.tokens, found, context)
    return found


def _continue(model: Any, tokens: Tokens, found: RealReference, context: Context) -> None:
    """Greedy tokens, with how far apart the best two were."""
    import torch
    from transformers import DynamicCache

    # The argument was called past_key_values until transformers 5.24.
    names = inspect.signature(model.forward).parameters
    cache = {"cache" if "cache" in names else "past_key_values": DynamicCache(config=model.config)}
    ids = torch.from_numpy(tokens[None].astype(np.int64))
    with torch.inference_mode():
        for _ in range(NUM_GREEDY):
            context.cancel.check()
            last = model(ids, use_cache=True, **cache).logits[0, -1].float()
            best = torch.topk(last, 2)
            found.tokens.append(int(best.indices[0]))
            found.margins.append(float(best.values[0] - best.values[1]))
            ids = best.indices[:1][None]


def _greedy(executor: Executor, tokens: Tokens, context: Context) -> list[int]:
    found: list[int] = []
    chunk, start = tokens, 0
    for _ in range(NUM_GREEDY):
        context.cancel.check()
        (logits,) = executor.step([SequenceChunk(0, start, chunk)])
        found.append(int(logits[-1].argmax()))
        start += len(chunk)
        chunk = np.asarray(found[-1:], np.int32)
    return found


def _counting_perplexity(ids: Sequence[int]) -> float:
    """exp of the entropy of the text's own token frequencies."""
    shares = np.array(list(Counter(ids).values())) / len(ids)
    return float(np.exp(-(shares * np.log(shares)).sum()))

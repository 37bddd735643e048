"""`deepinfer eval`: perplexity on a text, and how far a model is from another."""

from __future__ import annotations

import argparse
from contextlib import ExitStack, closing
from pathlib import Path

from app.cli.models import resolve_model
from app.cli.options import (
    Subparsers,
    add_activations_option,
    add_command,
    add_device_option,
    add_kv_dtype_option,
    add_model_argument,
    positive_int,
)
from app.cli.output import print_json, print_pairs
from app.cli.progress import ProgressBar
from app.core.errors import UsageError
from app.engine.evaluation import Evaluation
from app.engine.loader import LoadedEngine, load_engine
from app.engine.text_evaluation import evaluate_text, read_text

_DEFAULT_WINDOW = 512


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `eval`."""
    parser = add_command(subparsers, "eval", run, "Perplexity on a text; KL against another model.")
    add_model_argument(parser)
    parser.add_argument("--text", type=Path, required=True, metavar="FILE", help="UTF-8 text")
    parser.add_argument(
        "--ctx",
        type=positive_int,
        default=_DEFAULT_WINDOW,
        metavar="N",
        help="tokens in a window; windows do not overlap (default: %(default)s)",
    )
    parser.add_argument(
        "--against",
        metavar="MODEL2",
        help="the yardstick for KL and agreement; it runs with fp32 activations and cache",
    )
    add_device_option(parser)
    add_activations_option(parser)
    add_kv_dtype_option(parser)


def run(args: argparse.Namespace) -> None:
    """Evaluates and prints; raises AppError."""
    if args.ctx < 2:
        raise UsageError("--ctx must be at least 2: a window's first token is never predicted.")
    text = read_text(args.text)
    with ExitStack() as stack:
        loaded = _load(stack, args.model, args, args.activations, args.kv_dtype)
        yardstick = _load(stack, args.against, args, "fp32", "fp32") if args.against else None
        result = _evaluate(loaded, yardstick, text, args.ctx)
    _print(result, loaded, args)


def _load(
    stack: ExitStack, model: str, args: argparse.Namespace, activations: str, kv_dtype: str
) -> LoadedEngine:
    loaded = load_engine(
        resolve_model(model, args.device),
        args.device,
        max_model_len=args.ctx,
        activations=activations,
        kv_dtype=kv_dtype,
    )
    return stack.enter_context(closing(loaded))


def _evaluate(
    loaded: LoadedEngine, yardstick: LoadedEngine | None, text: str, window: int
) -> Evaluation:
    with ProgressBar("evaluating") as bar:
        return evaluate_text(loaded, text, window, yardstick, on_progress=bar.update)


def _print(result: Evaluation, loaded: LoadedEngine, args: argparse.Namespace) -> None:
    document = {
        "perplexity": result.perplexity,
        "tokens": result.tokens,
        "kl_mean": result.kl_mean,
        "kl_max": result.kl_max,
        "top1_agreement": result.top1_agreement,
        "ctx": args.ctx,
        "device": loaded.model.device,
        "precision": loaded.model.precision,
        "kv_dtype": loaded.executor.kv_dtype_for(args.kv_dtype),
    }
    if args.json:
        print_json(document)
    else:
        print_pairs((name, value) for name, value in document.items() if value is not None)

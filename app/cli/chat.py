"""`deepinfer chat`: one reply to -p or to what is piped in, or a conversation."""

from __future__ import annotations

import argparse
import sys

from app.chat.attachments import decode_text
from app.cli.conversation import Conversation
from app.cli.models import resolve_model
from app.cli.options import (
    Subparsers,
    add_activations_option,
    add_command,
    add_device_option,
    add_kv_dtype_option,
    add_model_argument,
    add_sampling_options,
    positive_int,
    read_sampling,
)
from app.cli.output import print_json, print_note
from app.cli.reply import Reply
from app.core.errors import UsageError
from app.core.events import LoadedModel
from app.engine.host import EngineHost
from app.engine.request import Message, OverflowPolicy, Request
from app.engine.request_handle import Completion
from app.engine.sampling import check_sampling


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `chat`."""
    parser = add_command(subparsers, "chat", run, "Chat with a model in the terminal.")
    add_model_argument(parser)
    parser.add_argument(
        "-p",
        "--prompt",
        help="answer this and end; without it what is piped in, or a conversation",
    )
    parser.add_argument("--system", metavar="S", help="system prompt")
    add_sampling_options(parser)
    parser.add_argument("--raw", action="store_true", help="send the prompt without chat template")
    parser.add_argument("--ctx", type=positive_int, metavar="N", help="context in tokens")
    add_device_option(parser)
    add_activations_option(parser)
    add_kv_dtype_option(parser)


def run(args: argparse.Namespace) -> None:
    """Loads the model and answers; raises AppError."""
    if args.raw and args.system:
        raise UsageError("--raw sends the prompt as it is, so there is no place for --system.")
    check_sampling(read_sampling(args))
    is_conversation = args.prompt is None and _is_terminal()
    if is_conversation and (args.json or args.raw):
        option = "--json" if args.json else "--raw"
        raise UsageError(f"chat {option} needs a prompt: -p PROMPT, or one that is piped in.")
    model_dir = resolve_model(args.model, args.device)
    prompt = args.prompt if is_conversation or args.prompt is not None else _read_piped()
    with EngineHost() as host:
        model = host.load_and_wait(
            model_dir, args.device, args.ctx, activations=args.activations, kv_dtype=args.kv_dtype
        )
        print_note(f"{model.name} on {model.device}, {model.precision}: {model.device_note}")
        if prompt is None:
            _converse(host, args)
        else:
            _answer_once(host, args, prompt, model)


def _is_terminal() -> bool:
    """Whether somebody sits at standard input; None is one that was closed."""
    return sys.stdin is not None and sys.stdin.isatty()


def _read_piped() -> str:
    """Standard input to its end."""
    piped = b"" if sys.stdin is None else sys.stdin.buffer.read()
    text = decode_text(piped, "standard input").strip()
    if not text:
        raise UsageError("There is nothing to answer: standard input is empty.")
    return text


def _answer_once(
    host: EngineHost, args: argparse.Namespace, prompt: str, model: LoadedModel
) -> None:
    sampling = read_sampling(args)
    if args.raw:
        request = Request(prompt=prompt, sampling=sampling)
    else:
        system = [Message("system", args.system)] if args.system else []
        request = Request(messages=(*system, Message("user", prompt)), sampling=sampling)
    handle = host.submit(request)
    completion = handle.result() if args.json else Reply(handle).play()
    if args.json:
        print_json(_to_document(completion, model))


def _converse(host: EngineHost, args: argparse.Namespace) -> None:
    sampling, overflow = read_sampling(args), OverflowPolicy.DROP_OLDEST
    Conversation(
        lambda messages: host.submit(
            Request(messages=tuple(messages), sampling=sampling, overflow=overflow)
        ),
        args.system,
    ).run()


def _to_document(completion: Completion, model: LoadedModel) -> dict[str, object]:
    usage = completion.usage
    return {
        "text": completion.text,
        "token_ids": list(completion.token_ids),
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "finish_reason": completion.finish_reason.value,
        "ttft_s": usage.ttft_s,
        "decode_tok_s": usage.decode_tok_s,
        "model": model.name,
        "device": model.device,
    }

"""`deepinfer chat`: one reply to -p, or a conversation; the text is printed as it comes."""

from __future__ import annotations

import argparse
import sys

from app.cli.models import resolve_model
from app.cli.options import (
    Subparsers,
    add_activations_option,
    add_command,
    add_device_option,
    add_kv_dtype_option,
    add_model_argument,
    natural_int,
    positive_int,
    temperature,
)
from app.cli.output import print_json, print_note
from app.core.errors import JobCancelledError, UsageError
from app.core.events import (
    FinishReason,
    LoadedModel,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    Usage,
)
from app.engine.host import EngineHost
from app.engine.request import Message, Request, SamplingParams
from app.engine.request_handle import Completion, RequestHandle


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `chat`."""
    parser = add_command(subparsers, "chat", run, "Chat with a model in the terminal.")
    add_model_argument(parser)
    parser.add_argument("-p", "--prompt", help="answer this and end; without it, a conversation")
    parser.add_argument("--system", metavar="S", help="system prompt")
    parser.add_argument("--temperature", type=temperature, default=0.7, metavar="T")
    parser.add_argument("--seed", type=natural_int, metavar="N", help="same seed, same text")
    parser.add_argument("--max-tokens", type=positive_int, metavar="N")
    parser.add_argument("--raw", action="store_true", help="send the prompt without chat template")
    add_device_option(parser)
    add_activations_option(parser)
    add_kv_dtype_option(parser)


def run(args: argparse.Namespace) -> None:
    """Loads the model and answers; raises AppError."""
    if args.json and args.prompt is None:
        raise UsageError("chat --json needs a prompt: -p PROMPT.")
    if args.raw and args.system:
        raise UsageError("--raw sends the prompt as it is, so there is no place for --system.")
    model_dir = resolve_model(args.model, args.device)
    with EngineHost() as host:
        model = host.load_and_wait(
            model_dir, args.device, activations=args.activations, kv_dtype=args.kv_dtype
        )
        print_note(f"{model.name} on {model.device}, {model.precision}: {model.device_note}")
        if args.prompt is None:
            _converse(host, args)
        else:
            _answer_once(host, args, model)


def _answer_once(host: EngineHost, args: argparse.Namespace, model: LoadedModel) -> None:
    handle = host.submit(_create_request(args, [], args.prompt))
    completion = handle.result() if args.json else Reply(handle).play()
    if args.json:
        print_json(_to_document(completion, model))


def _converse(host: EngineHost, args: argparse.Namespace) -> None:
    print_note("Type a message. Ctrl+C stops a reply; an empty line, Ctrl+D or Ctrl+C ends.")
    history: list[Message] = []
    while text := _read_line():
        handle = host.submit(_create_request(args, history, text))
        completion = Reply(handle).play_until_stopped()
        if not args.raw:
            history += [Message("user", text), Message("assistant", completion.text)]


def _read_line() -> str:
    try:
        return input("> ").strip()
    except (EOFError, KeyboardInterrupt):
        print()
        return ""


def _create_request(args: argparse.Namespace, history: list[Message], text: str) -> Request:
    sampling = SamplingParams(
        temperature=args.temperature, seed=args.seed, max_tokens=args.max_tokens
    )
    if args.raw:
        return Request(prompt=text, sampling=sampling)
    system = [Message("system", args.system)] if args.system else []
    return Request(messages=(*system, *history, Message("user", text)), sampling=sampling)


class Reply:
    """Prints a reply as it comes, and keeps it."""

    def __init__(self, handle: RequestHandle) -> None:
        self._handle = handle
        self._text: list[str] = []
        self._token_ids: list[int] = []

    def play(self) -> Completion:
        """Prints to the end; raises the AppError of a request that failed. May be called again
        after Ctrl+C: it goes on where it was."""
        for event in self._handle:
            if isinstance(event, TokensGenerated):
                self._add(event)
            elif isinstance(event, RequestFailed):
                raise event.error.to_exception()
            elif isinstance(event, RequestFinished):
                return self._finish(event)
        raise JobCancelledError

    def play_until_stopped(self) -> Completion:
        """Like `play`, but Ctrl+C ends the reply and not the program."""
        try:
            return self.play()
        except KeyboardInterrupt:
            self._handle.cancel()
            return self.play()

    def _add(self, event: TokensGenerated) -> None:
        self._text.append(event.text)
        self._token_ids.extend(event.token_ids)
        sys.stdout.write(event.text)
        sys.stdout.flush()

    def _finish(self, event: RequestFinished) -> Completion:
        print(flush=True)
        print_note(_describe(event.usage, event.finish_reason))
        text, token_ids = "".join(self._text), tuple(self._token_ids)
        return Completion(text, token_ids, event.finish_reason, event.usage)


def _describe(usage: Usage, reason: FinishReason) -> str:
    return (
        f"[{usage.completion_tokens} tokens, {usage.decode_tok_s:.1f} tokens/s, "
        f"first after {usage.ttft_s:.2f} s, {usage.prompt_tokens} in the prompt, ended by {reason}]"
    )


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

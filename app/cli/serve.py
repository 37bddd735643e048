"""`deepinfer serve`: the OpenAI port over one model, until Ctrl+C."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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
)
from app.cli.output import print_json, print_note
from app.core.errors import EngineError
from app.core.events import Event, LoadedModel
from app.core.server_events import ServerRequestFinished
from app.engine.host import EngineHost
from app.server.options import DEFAULT_HOST, DEFAULT_MAX_REQUESTS, DEFAULT_PORT, ServerOptions
from app.server.runner import ServerRunner

_KEY_VARIABLE = "DEEPINFER_API_KEY"
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_POLL_S = 0.5  # Windows delivers Ctrl+C only between waits


def add_parsers(subparsers: Subparsers) -> None:
    """Adds `serve`."""
    parser = add_command(
        subparsers, "serve", run, "Serve a model to programs that speak OpenAI's API."
    )
    add_model_argument(parser)
    parser.add_argument(
        "--host",
        default=DEFAULT_HOST,
        help="another one than %(default)s lets other machines in, and needs a key",
    )
    parser.add_argument("--port", type=natural_int, default=DEFAULT_PORT, help="0 takes any")
    parser.add_argument(
        "--api-key", metavar="K", help=f"what clients must send (also from {_KEY_VARIABLE})"
    )
    parser.add_argument(
        "--queue",
        type=positive_int,
        default=DEFAULT_MAX_REQUESTS,
        metavar="N",
        help="requests worked on or waiting, behind which 429 is answered (default: %(default)s)",
    )
    parser.add_argument("--ctx", type=positive_int, metavar="N", help="context in tokens")
    add_device_option(parser)
    add_activations_option(parser)
    add_kv_dtype_option(parser)


def run(args: argparse.Namespace) -> None:
    """Loads, serves and ends cleanly at Ctrl+C; raises AppError."""
    options = ServerOptions(
        host=args.host,
        port=args.port,
        api_key=args.api_key or os.environ.get(_KEY_VARIABLE, ""),
        max_requests=args.queue,
    )
    options.check()  # before a model is converted and loaded for nothing
    model_dir = resolve_model(args.model, args.device)
    with EngineHost() as host:
        model = host.load_and_wait(
            model_dir, args.device, args.ctx, activations=args.activations, kv_dtype=args.kv_dtype
        )
        runner = ServerRunner(host, options, _print_end)
        with interrupted() as is_interrupted:
            _announce(runner.start(), model, options, as_json=args.json)
            try:
                _wait(runner, is_interrupted)
            finally:
                runner.stop()
    print_note("The port is closed.")


def _wait(runner: ServerRunner, is_interrupted: threading.Event) -> None:
    """Until Ctrl+C; raises EngineError when the server ends before."""
    while not is_interrupted.wait(_POLL_S):
        if not runner.base_url:
            raise EngineError("The server ended by itself; the log has the reason.")


def _announce(base_url: str, model: LoadedModel, options: ServerOptions, *, as_json: bool) -> None:
    print_note(f"{model.name} on {model.device}, {model.precision}: {model.device_note}")
    document = {
        "base_url": base_url,
        "model": model.name,
        "device": model.device,
        "max_model_len": model.max_model_len,
        "needs_key": bool(options.api_key),
    }
    if as_json:
        print_json(document)
    else:
        print(base_url)
        print_note("Ctrl+C ends.")
    sys.stdout.flush()  # whoever started this waits for the address


def _print_end(event: Event) -> None:
    if isinstance(event, ServerRequestFinished):
        reason = f": {event.error}" if event.error else ""
        print_note(
            f"{event.status} {event.path} {event.client}: {event.prompt_tokens} + "
            f"{event.completion_tokens} tokens, {event.tok_s:.1f} tokens/s, "
            f"{event.duration_s:.2f} s, {event.state}{reason}"
        )


@contextmanager
def interrupted() -> Iterator[threading.Event]:
    """Set by Ctrl+C, and where there is one by the signal that service managers send."""
    is_set = threading.Event()

    def on_signal(_signal: int, _frame: FrameType | None) -> None:
        is_set.set()

    previous = {number: signal.signal(number, on_signal) for number in _SIGNALS}
    try:
        yield is_set
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)

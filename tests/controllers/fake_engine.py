"""An engine without a model, for the controller's tests: what it does is the user's message.

`count N` streams N numbers, `essay N` N tokens of Markdown as fast as a card does, `forever`
streams until cancelled, `fail` is refused, `break` fails after some text, `die` ends the process
after some text, `echo` repeats the request's messages.
Its port BUSY_PORT is taken, DEADLY_PORT ends the process; at any other one request runs.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from dataclasses import replace
from pathlib import Path

from app.core.errors import (
    ContextLengthError,
    EngineError,
    InvalidSourceError,
    PortBusyError,
)
from app.core.events import (
    EngineState,
    EngineStateChanged,
    ErrorInfo,
    FinishReason,
    LoadedModel,
    MemorySampled,
    PrefillProgressed,
    PromptMeasured,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    Usage,
)
from app.core.server_events import (
    ServerFailed,
    ServerRequestEvent,
    ServerRequestFinished,
    ServerRequestProgressed,
    ServerRequestState,
    ServerStarted,
    ServerStopped,
)
from app.engine.request import Request
from app.workers.child import Listener
from app.workers.commands import (
    CancelRequest,
    CancelServerRequest,
    Command,
    LoadModel,
    MeasurePrompt,
    StartServer,
    StopServer,
    SubmitRequest,
    UnloadModel,
)

BUSY_PORT, DEADLY_PORT = 81, 82
SLOW_LOAD_S = 1.5
CHARS_A_TOKEN = 4
_SECTION = """## Part {n}

The *sum* $\\sum_{{i=1}}^{{n}} x_i^2$ and **half** of it, $\\frac{{1}}{{2}}$, as `f({n})` says.

$$\\int_0^1 e^{{-x^2}}\\,dx = \\frac{{\\sqrt{{\\pi}}}}{{2}}$$

```python
def f(x: int) -> str:
    # What is asked for in part {n}, in a line that is as long as such lines are.
    return f"{{x}} of {n}"


class Part{n}(Section):
    number = {n}
```

| name | value |
|---|--:|
| a | {n} |
| b | 2 |

1. first
2. second
   - below

"""


def essay(num_tokens: int) -> str:
    """LaTeX, code, tables and lists."""
    num_chars = num_tokens * CHARS_A_TOKEN
    return "".join(_SECTION.format(n=n) for n in range(num_chars // 300))[:num_chars]


def measured(request: Request) -> PromptMeasured:
    """A token is a word of a turn, and 50 fit: the first two messages are dropped above that."""
    words = [len(message.content.split()) for message in request.messages]
    num_dropped = 2 if sum(words) > 50 and len(words) > 2 else 0
    return PromptMeasured(request.request_id, sum(words[num_dropped:]), num_dropped, 50)


class FakeEngine:
    def __init__(self, listener: Listener) -> None:
        self._post = listener
        self._cancelled: set[str] = set()
        self._threads: list[threading.Thread] = []

    def handle(self, command: Command) -> None:
        match command:
            case LoadModel():
                self._load(command)
            case UnloadModel():
                self._post(EngineStateChanged(EngineState.UNLOADING))
                self._post(EngineStateChanged(EngineState.UNLOADED))
            case SubmitRequest():
                self._threads.append(threading.Thread(target=self._reply, args=(command.request,)))
                self._threads[-1].start()
            case MeasurePrompt():
                self._post(measured(command.request))
            case CancelRequest():
                self._cancelled.add(command.request_id)
            case StartServer():
                self._start_server(command)
            case StopServer():
                self._post(ServerStopped())
            case CancelServerRequest():
                self._post(server_request(command.request_id, ServerRequestState.CANCELLED))

    def close(self) -> None:
        self._cancelled.add("all")
        for thread in self._threads:
            thread.join()
        self._post(EngineStateChanged(EngineState.UNLOADED))

    def _start_server(self, command: StartServer) -> None:
        if command.port == DEADLY_PORT:
            os._exit(9)
        if command.port == BUSY_PORT:
            error = PortBusyError("Port 81 is in use. Port 8300 is free.", free_port=8300)
            self._post(ServerFailed(ErrorInfo.from_exception(error), error.free_port))
            return
        host = "0.0.0.0" if command.allow_lan else "127.0.0.1"
        self._post(ServerStarted(f"http://{host}:{command.port}/v1", host, command.port))
        running = server_request("r1", ServerRequestState.DECODING)
        self._post(replace(running, client=f"key {command.api_key}"))

    def _load(self, command: LoadModel) -> None:
        self._post(EngineStateChanged(EngineState.LOADING))
        if command.model_dir.name == "die":
            os._exit(9)
        if command.model_dir.name == "slow":
            threading.Timer(SLOW_LOAD_S, self._post, [self._ready(command)]).start()
            return
        if command.model_dir.name == "missing":
            error = ErrorInfo.from_exception(InvalidSourceError("There is no such model."))
            self._post(EngineStateChanged(EngineState.FAILED, error=error))
            return
        self._post(self._ready(command))
        self._post(MemorySampled(1, 2, 3, 4, 5_000_000_000, 8_000_000_000))

    def _ready(self, command: LoadModel) -> EngineStateChanged:
        return EngineStateChanged(EngineState.READY, create_model(command.model_dir))

    def _reply(self, request: Request) -> None:
        if request.continues_reply:
            said = request.messages[-1]
            self._post(TokensGenerated(request.request_id, (0,), f"more than {said.content!r}"))
            self._finish(request, "")
            return
        word, _, number = request.messages[-1].content.splitlines()[-1].partition(" ")
        if word == "fail":
            error = ErrorInfo.from_exception(ContextLengthError("The prompt is too long."))
            self._post(RequestFailed(request.request_id, error))
            return
        self._post(PrefillProgressed(request.request_id, 5, 5, 0))
        if word == "echo":
            echo = "|".join(f"{message.role}:{message.content}" for message in request.messages)
            self._post(TokensGenerated(request.request_id, (0,), echo))
        elif word == "essay":
            self._write_essay(request, int(number))
        elif word != "silence":
            self._stream(request, word, int(number) if number else None)
        self._finish(request, word)

    def _stream(self, request: Request, word: str, limit: int | None) -> None:
        for number in itertools.count() if limit is None else range(limit):
            self._post(TokensGenerated(request.request_id, (number,), f"{number} "))
            if {request.request_id, "all"} & self._cancelled:
                return
            time.sleep(0.002)
            if word in ("die", "break") and number == 20:
                return

    def _write_essay(self, request: Request, num_tokens: int) -> None:
        text = essay(num_tokens)
        for position in range(0, len(text), CHARS_A_TOKEN):
            piece = text[position : position + CHARS_A_TOKEN]
            self._post(TokensGenerated(request.request_id, (position,), piece))
            if position % (8 * CHARS_A_TOKEN) == 0:
                time.sleep(0.002)
            if {request.request_id, "all"} & self._cancelled:
                return

    def _finish(self, request: Request, word: str) -> None:
        if word == "die":
            os._exit(9)
        if word == "break":
            error = ErrorInfo.from_exception(EngineError("The executor failed."))
            self._post(RequestFailed(request.request_id, error))
            return
        is_cancelled = request.request_id in self._cancelled
        reason = FinishReason.CANCELLED if is_cancelled else FinishReason.STOP
        usage = Usage(5, 1, 7, 0.25, 2.0)
        self._post(RequestFinished(request.request_id, reason, usage))


def server_request(request_id: str, state: ServerRequestState) -> ServerRequestEvent:
    is_over = state in (ServerRequestState.CANCELLED, ServerRequestState.FINISHED)
    kind = ServerRequestFinished if is_over else ServerRequestProgressed
    path = "/v1/chat/completions"
    return kind(request_id, "openai-python", "Fake-1B", path, state, 200, 12, 34, 56.0)


def create_model(model_dir: Path) -> LoadedModel:
    return LoadedModel(
        name=model_dir.name,
        model_dir=model_dir,
        architecture="LlamaForCausalLM",
        device="cpu",
        device_note="for tests",
        max_model_len=4096,
        weights_bytes=5_000_000_000,
        kv_bytes_per_token=1,
        load_s=0.0,
        has_chat_template=True,
    )


def create_service(listener: Listener) -> FakeEngine:
    return FakeEngine(listener)

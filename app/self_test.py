"""`deepinfer --self-test [FILE]`: does this installation work? Answered as JSON, and by exit code.

Everything that a user would do first is done once, in a home of its own: what the program imports,
its window (on a screen that nobody sees), the starter model converted in its worker process, a
reply, a request at the localhost port. What a step does not find is `not_run`, with the reason.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import queue
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from app import __version__
from app.core.conversion_events import ConversionFinished
from app.core.errors import AppError, MissingExtraError
from app.core.events import (
    EngineState,
    EngineStateChanged,
    Event,
    JobFailed,
    RequestFailed,
    RequestFinished,
    TokensGenerated,
    WorkerDied,
)
from app.core.frozen import is_frozen
from app.core.server_events import ServerFailed, ServerStarted
from app.engine.request import Message, Request, SamplingParams
from app.hub.starter import require_starter
from app.workers.commands import Command, ConvertSource, LoadModel, StartServer, SubmitRequest
from app.workers.process import WorkerProcess

_logger = logging.getLogger(__name__)

_WAIT_S = 240.0
_PROMPT = "What is the capital of France?"
_MAX_TOKENS = 24
# What a start does not import, but a use does: a bundle must have it all.
_MODULES = (
    *("numpy", "ml_dtypes", "safetensors", "gguf", "tokenizers", "huggingface_hub", "httpx2"),
    *("jinja2", "psutil", "pygments", "pyqtgraph", "fastapi", "uvicorn", "llguidance", "keyring"),
    *("send2trash", "pypdf", "unicodeit", "PySide6.QtWidgets", "PySide6.QtSvg", "sqlite3", "ssl"),
)
Step = Callable[[], dict[str, Any]]
_E = TypeVar("_E", bound=Event)


class SelfTest:
    """The steps, in this order: each may use what the ones before have made."""

    def __init__(self, home: Path, picture: Path | None) -> None:
        self._home = home
        self._picture = picture
        self._checkpoint = home / "models" / "starter"

    def run(self) -> dict[str, Any]:
        """The whole document; `ok` where nothing failed."""
        document: dict[str, Any] = {"version": __version__, "is_frozen": is_frozen()}
        document |= {"python": platform.python_version(), "platform": platform.platform()}
        steps = [_attempt(step) for step in (self.imports, self.window, self.conversion)]
        with _Worker("engine") as engine:
            steps.append(_attempt(lambda: self.reply(engine)))
            steps.append(_attempt(lambda: self.server(engine)))
        names = ("imports", "window", "conversion", "reply", "server")
        document["steps"] = dict(zip(names, steps, strict=True))
        document["ok"] = all(step["status"] != "fail" for step in steps)
        return document

    def imports(self) -> dict[str, Any]:
        """Every module, the native library, the modules for cards; CuPy where it is installed."""
        from kernels.cpu.loader import instruction_sets
        from kernels.cuda.built import BUILT_DIR

        for name in _MODULES:
            import_module(name)
        backend = type(import_module("keyring").get_keyring())
        return {
            "num_modules": len(_MODULES),
            "instruction_sets": list(instruction_sets()),
            "cuda_archives": sorted(path.stem for path in BUILT_DIR.glob("*.zip")),
            "cupy": import_module("cupy").__version__ if find_spec("cupy") else None,
            "keyring": f"{backend.__module__}.{backend.__qualname__}",
            "has_reference": find_spec("torch") is not None,
        }

    def window(self) -> dict[str, Any]:
        """The real window, shown once and closed; its picture beside the report."""
        from PySide6.QtWidgets import QApplication

        if sys.platform == "win32":  # that platform does not find the fonts there by itself
            os.environ.setdefault("QT_QPA_FONTDIR", r"C:\Windows\Fonts")
        QApplication([sys.argv[0], "-platform", "offscreen"])
        from app.gui import Program, create_application

        app = create_application()
        program = Program(app)
        painted: list[float] = []
        started_s = time.monotonic()
        program.window.painted.connect(lambda: painted.append(time.monotonic() - started_s))
        program.window.show()
        while not painted and time.monotonic() < started_s + _WAIT_S:
            app.processEvents()
        pixmap = program.window.grab()
        if self._picture is not None:
            pixmap.save(str(self._picture))
        program.window.close()
        program.shutdown()
        if not painted:
            raise RuntimeError("The window was not painted.")
        return {"size": [pixmap.width(), pixmap.height()], "platform": app.platformName()}

    def conversion(self) -> dict[str, Any]:
        """The starter, as the window does it."""
        source = require_starter()
        with _Worker("convert") as worker:
            worker.send(ConvertSource(source, self._checkpoint))
            report = worker.wait_for(ConversionFinished).report
        return {"lossless": report.lossless, "output_bytes": report.output_bytes}

    def reply(self, engine: _Worker) -> dict[str, Any]:
        """A greedy reply: the same tokens wherever the same instruction set computes them."""
        self._require_checkpoint()
        engine.send(LoadModel(self._checkpoint, device="cpu"))
        model = engine.wait_until_ready()
        sampling = SamplingParams(temperature=0.0, max_tokens=_MAX_TOKENS)
        engine.send(SubmitRequest(Request((Message("user", _PROMPT),), sampling=sampling)))
        token_ids, text = engine.read_reply()
        return {"text": text, "token_ids": token_ids, "device": model}

    def server(self, engine: _Worker) -> dict[str, Any]:
        """One chat completion at the port, by plain HTTP; the same question, the same answer."""
        self._require_checkpoint()
        engine.send(StartServer(port=0))
        url = engine.wait_for(ServerStarted).base_url
        body = {"messages": [{"role": "user", "content": _PROMPT}], "temperature": 0}
        body |= {"model": self._checkpoint.name, "max_tokens": _MAX_TOKENS}
        answer = _post(f"{url}/chat/completions", body)
        return {"text": answer["choices"][0]["message"]["content"], "usage": answer["usage"]}

    def _require_checkpoint(self) -> None:
        if not self._checkpoint.is_dir():
            raise MissingExtraError("There is no converted starter.")


class _Worker:
    """A worker process and its events, read in order."""

    def __init__(self, service: str) -> None:
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._process = WorkerProcess(service, self._events.put)

    def __enter__(self) -> _Worker:
        self._process.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.stop()

    def send(self, command: Command) -> None:
        self._process.send(command)

    def wait_for(self, kind: type[_E]) -> _E:
        return next(event for event in self._read() if isinstance(event, kind))

    def wait_until_ready(self) -> str:
        """The device of the model that is loaded."""
        for event in self._read():
            if isinstance(event, EngineStateChanged) and event.state is EngineState.READY:
                return event.model.device_note if event.model else ""
        raise AssertionError

    def read_reply(self) -> tuple[list[int], str]:
        token_ids: list[int] = []
        text = ""
        for event in self._read():
            if isinstance(event, TokensGenerated):
                token_ids += event.token_ids
                text += event.text
            elif isinstance(event, RequestFinished):
                break
        return token_ids, text

    def _read(self) -> Iterator[Event]:
        """What comes; raises what failed, and TimeoutError when nothing comes any more."""
        while True:
            try:
                event = self._events.get(timeout=_WAIT_S)
            except queue.Empty as error:
                raise TimeoutError(f"Nothing came within {_WAIT_S:.0f} s.") from error
            if isinstance(event, JobFailed | RequestFailed | ServerFailed):
                raise event.error.to_exception()
            if isinstance(event, EngineStateChanged) and event.error is not None:
                raise event.error.to_exception()
            if isinstance(event, WorkerDied):
                raise RuntimeError(f"A worker process died with exit code {event.exit_code}.")
            yield event


def _attempt(step: Step) -> dict[str, Any]:
    started_s = time.monotonic()
    try:
        result = {"status": "pass", **step()}
    except MissingExtraError as error:
        result = {"status": "not_run", "reason": error.message}
    except AppError as error:
        result = {"status": "fail", "reason": error.message, "detail": error.detail}
    except Exception as error:
        _logger.exception("a step of the self-test failed")
        result = {"status": "fail", "reason": f"{type(error).__name__}: {error}"}
    return {**result, "seconds": round(time.monotonic() - started_s, 3)}


def _post(url: str, body: dict[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    # No proxy: it is this very machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=_WAIT_S) as answer:
        document: dict[str, Any] = json.load(answer)
    return document


@contextmanager
def _own_home() -> Iterator[Path]:
    """The user's own settings, chats and models are not touched."""
    with tempfile.TemporaryDirectory(prefix="deepinfer-", ignore_cleanup_errors=True) as folder:
        os.environ["DEEPINFER_HOME"] = folder
        yield Path(folder)


def main(report: Path | None) -> int:
    """Runs all steps; writes the document to `report`, else to stdout. 0 when nothing failed."""
    with _own_home() as home:
        picture = report.with_suffix(".png") if report is not None else None
        document = SelfTest(home, picture).run()
        logging.shutdown()  # a log that is open cannot be removed with its folder
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    if report is None:
        sys.stdout.write(text)
    else:
        report.write_text(text, encoding="utf-8")
    return 0 if document["ok"] else 1

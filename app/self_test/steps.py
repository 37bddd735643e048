"""What is tried, in this order: each step may use what the ones before have made."""

from __future__ import annotations

import json
import logging
import platform
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from app import __version__
from app.core.conversion_events import ConversionFinished
from app.core.errors import AppError, MissingExtraError
from app.core.frozen import is_frozen
from app.core.server_events import ServerStarted
from app.core.validation_events import CheckStatus, ValidationFinished
from app.engine.request import Message, Request, SamplingParams
from app.hub.starter import require_starter
from app.self_test.contents import check_contents, check_kernels, check_texts
from app.self_test.window import show_window
from app.self_test.worker import WAIT_S, Worker
from app.workers.commands import (
    ConvertSource,
    LoadModel,
    StartServer,
    SubmitRequest,
    ValidateSource,
)

_logger = logging.getLogger(__name__)

_PROMPT = "What is the capital of France?"
_MAX_TOKENS = 24
Step = Callable[[], dict[str, Any]]


class SelfTest:
    """`home` is empty and its own; `picture` where the window's goes."""

    def __init__(self, home: Path, picture: Path | None) -> None:
        self._home = home
        self._picture = picture
        self._checkpoint = home / "models" / "starter"

    def run(self) -> dict[str, Any]:
        """The whole document; `ok` where nothing failed."""
        document: dict[str, Any] = {"version": __version__, "is_frozen": is_frozen()}
        document |= {"python": platform.python_version(), "platform": platform.platform()}
        steps: dict[str, dict[str, Any]] = {}
        first: dict[str, Step] = {
            "contents": check_contents,
            "kernels": check_kernels,
            "texts": lambda: check_texts(self._home),
            "window": lambda: show_window(self._picture),
            "conversion": self.conversion,
            "validation": self.validation,
        }
        steps |= {name: attempt(step) for name, step in first.items()}
        with Worker("engine") as engine:
            steps["reply"] = attempt(lambda: self.reply(engine))
            steps["server"] = attempt(lambda: self.server(engine))
        document["steps"] = steps
        document["ok"] = all(step["status"] != "fail" for step in steps.values())
        return document

    def conversion(self) -> dict[str, Any]:
        """The starter, as the window does it."""
        source = require_starter()
        with Worker("convert") as worker:
            worker.send(ConvertSource(source, self._checkpoint))
            report = worker.wait_for(ConversionFinished).report
        return {"lossless": report.lossless, "output_bytes": report.output_bytes}

    def validation(self) -> dict[str, Any]:
        """The starter's rows; without torch and transformers those that need them are not run."""
        source = require_starter()
        with Worker("validate") as worker:
            worker.send(ValidateSource(str(source)))
            report = worker.wait_for(ValidationFinished).report
        if report.failed:
            raise ValueError("; ".join(f"{one.title}: {one.detail}" for one in report.failed))
        skipped = [check for check in report.checks if check.status is CheckStatus.NOT_RUN]
        return {
            "verdict": report.verdict.status,
            "reference": report.reference,
            "passed": len(report.checks) - len(skipped),
            "not_run": {check.name: check.detail for check in skipped},
        }

    def reply(self, engine: Worker) -> dict[str, Any]:
        """A greedy reply: the same tokens wherever the same instruction set computes them."""
        self._require_checkpoint()
        engine.send(LoadModel(self._checkpoint, device="cpu"))
        model = engine.wait_until_ready()
        sampling = SamplingParams(temperature=0.0, max_tokens=_MAX_TOKENS)
        engine.send(SubmitRequest(Request((Message("user", _PROMPT),), sampling=sampling)))
        token_ids, text = engine.read_reply()
        return {"text": text, "token_ids": token_ids, "device": model}

    def server(self, engine: Worker) -> dict[str, Any]:
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


def attempt(step: Step) -> dict[str, Any]:
    """What the step found, or why it ended early; and how long it took."""
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
    with opener.open(request, timeout=WAIT_S) as answer:
        document: dict[str, Any] = json.load(answer)
    return document

"""A validator without models, for the window's tests: what it does is the source's name.

`slow` goes on until cancelled, `bad` is refused before a row, `die` ends the process, `red` has a
row that fails; anything else passes.
"""

from __future__ import annotations

import os
import threading

from app.core.errors import UsageError
from app.core.events import ErrorInfo, JobCancelled, JobFailed
from app.core.validation_events import (
    Check,
    CheckFinished,
    CheckProgressed,
    CheckStarted,
    CheckStatus,
    Difference,
    DifferenceList,
    DifferencesFound,
    DifferenceState,
    PlannedCheck,
    PromptsRendered,
    RenderedPrompt,
    ValidationChain,
    ValidationFinished,
    ValidationReport,
    ValidationStarted,
    Verdict,
    VerdictStatus,
)
from app.workers.child import Listener
from app.workers.commands import CancelJob, Command, ValidateSource

CHAIN = ValidationChain(
    "fake",
    "LlamaForCausalLM (llama)",
    "app.spec.adapters.llama",
    "llama",
    (("hidden_size", "64"), ("head_dim", "16")),
    ("reference", "cpu"),
)
CHECKS = (PlannedCheck("first", "The first check"), PlannedCheck("second", "The second check"))
DIFFERENCES = (
    Difference(DifferenceList.MODEL, "q/k norm", DifferenceState.SAME, "none", "none"),
    Difference(DifferenceList.DATA, "rope theta", DifferenceState.DIFFERENT, "1e4", "5e5"),
)
PROMPTS = (RenderedPrompt("system, user", "<|system|>Be kind.\n<|user|>Hello"),)


class FakeValidator:
    def __init__(self, listener: Listener) -> None:
        self._post = listener
        self._cancelled = threading.Event()
        self._thread: threading.Thread | None = None

    def handle(self, command: Command) -> None:
        if isinstance(command, CancelJob):
            self._cancelled.set()
        elif isinstance(command, ValidateSource):
            self._cancelled = threading.Event()
            self._thread = threading.Thread(target=self._run, args=(command.source,))
            self._thread.start()

    def close(self) -> None:
        self._cancelled.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self, source: str) -> None:
        if source == "bad":
            error = UsageError("bad is neither a file nor a repository.")
            self._post(JobFailed(ErrorInfo.from_exception(error)))
            return
        self._post(ValidationStarted(source, CHAIN, CHECKS))
        self._post(CheckStarted("first"))
        self._post(CheckProgressed("first", "layer 1 of 2"))
        if source == "die":
            os._exit(9)
        if source == "slow":
            self._cancelled.wait()
            self._post(JobCancelled())
            return
        self._finish(source)

    def _finish(self, source: str) -> None:
        status = CheckStatus.FAIL if source == "red" else CheckStatus.PASS
        checks = (
            Check("first", "The first check", status, "It was looked at.", {"error": 3e-06}),
            Check("second", "The second check", CheckStatus.NOT_RUN, "not run: no weights."),
        )
        self._post(CheckFinished(checks[0]))
        self._post(DifferencesFound(DIFFERENCES))
        self._post(PromptsRendered(PROMPTS))
        self._post(CheckFinished(checks[1]))
        self._post(ValidationFinished(create_report(source, checks)))


def create_report(name: str, checks: tuple[Check, ...]) -> ValidationReport:
    is_red = any(check.status is CheckStatus.FAIL for check in checks)
    status = VerdictStatus.REFUSED if is_red else VerdictStatus.CONVERT
    reason = "The first check failed." if is_red else "It runs after conversion."
    return ValidationReport(
        name=name,
        verdict=Verdict(status, reason),
        chain=CHAIN,
        reference="fake",
        environment=(),
        differences=DIFFERENCES,
        checks=checks,
        prompts=PROMPTS,
        unverified=("The second check: no weights.",),
        seconds=1.5,
        cpu_seconds=1.0,
        markdown=f"# {name}\n",
        document='{"verdict": "convert"}\n',
    )


def create_service(listener: Listener) -> FakeValidator:
    return FakeValidator(listener)

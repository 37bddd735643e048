"""Validation in a child process: it imports torch and transformers, and gives their memory back."""

from __future__ import annotations

from functools import partial

from app.core.jobs import CancelToken
from app.validation.runner import validate
from app.workers.child import Listener
from app.workers.commands import CancelJob, Command, ValidateSource
from app.workers.job_thread import JobThread
from app.workers.priority import step_back


class ValidateService:
    """One validation after another."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._jobs = JobThread(listener, "validation")
        self._cancel = CancelToken()

    def handle(self, command: Command) -> None:
        """Begins a validation, or cancels the one begun last."""
        match command:
            case ValidateSource():
                self._cancel = CancelToken()
                self._jobs.begin(partial(self._validate, command, self._cancel))
            case CancelJob():
                self._cancel.cancel()
            case _:
                raise TypeError(f"{command} is no command for a validation.")

    def close(self) -> None:
        """Cancels and waits."""
        self._cancel.cancel()
        self._jobs.close()

    def _validate(self, command: ValidateSource, cancel: CancelToken) -> None:
        validate(command.source, self._listener, cancel)


def create_service(listener: Listener) -> ValidateService:
    """Validation, without a job."""
    step_back()
    return ValidateService(listener)

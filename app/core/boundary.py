"""Where everything is caught: at the ends of threads and jobs, and around what libraries run."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType

from app.core.errors import AppError

_logger = logging.getLogger(__name__)

# Where PyO3 keeps its PanicException, a BaseException that no module gives: a thread that lets it
# pass would be gone, and whoever waits for it would wait for ever.
_RUST = "pyo3_runtime"


class Guard:
    """`with Guard(what, told):` nothing comes out of the block, `told` hears what was raised.

    For where a thread, a queue or the requests of others must go on whatever one of them does;
    everywhere else what can come is caught by name. `what` begins the line in the log: an expected
    failure is one line, a fault comes with its trace, and so does a panic of a library in Rust,
    which is told as a RuntimeError. Interrupts and exits pass.
    """

    def __init__(self, what: str, told: Callable[[Exception], object] = lambda error: None) -> None:
        self._what = what
        self._told = told

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if error is not None and type(error).__module__ == _RUST:
            error = RuntimeError(f"{type(error).__name__}: {error}").with_traceback(trace)
        if not isinstance(error, Exception):
            return False
        if isinstance(error, AppError):
            _logger.info("%s: %s %s", self._what, error.message, error.detail)
        else:
            _logger.error("%s.", self._what, exc_info=error)
        self._told(error)
        return True

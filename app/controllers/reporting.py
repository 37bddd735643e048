"""What a command refuses is told by a signal, like all else that a controller tells."""

from __future__ import annotations

from types import TracebackType

from PySide6.QtCore import SignalInstance

from app.core.errors import AppError
from app.core.events import ErrorInfo


class Reporting:
    """`with Reporting(self.failed):` an AppError ends the block, and is told as ErrorInfo."""

    def __init__(self, failed: SignalInstance) -> None:
        self._failed = failed

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, AppError):
            return False
        self._failed.emit(ErrorInfo.from_exception(error))
        return True

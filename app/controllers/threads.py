"""A function on a QThread of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable

from PySide6.QtCore import QObject, QThread, Signal

from app.core.errors import AppError
from app.core.events import ErrorInfo
from app.core.system_reason import to_app_error


class FunctionThread(QThread):
    """Runs `function` once. Keep a reference until it has ended: Qt aborts the program otherwise.

    Signals (exactly one of both, emitted on this thread: connect them to slots of QObjects only):
        returned(object): what the function returned.
        errored(ErrorInfo): what it raised. Anything but an AppError or OSError is a fault, which
            the crash watch (`sys.excepthook`) hears of as well.
    """

    returned = Signal(object)
    errored = Signal(object)

    def __init__(self, function: Callable[[], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._function = function

    def run(self) -> None:
        """Qt calls this on the new thread."""
        try:
            result = self._function()
        except AppError as error:
            self.errored.emit(ErrorInfo.from_exception(error))
        except OSError as error:
            self.errored.emit(ErrorInfo.from_exception(to_app_error(error)))
        else:
            self.returned.emit(result)
        finally:
            # A fault is on its way to the crash watch; nobody may wait for an end that never comes.
            if fault := sys.exception():
                self.errored.emit(ErrorInfo.from_exception(fault))

    def join(self) -> None:
        """Waits for the end."""
        self.wait()

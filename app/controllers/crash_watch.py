"""Nothing that breaks is lost: it is logged, kept in a report on this disk, and told."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import (
    QCoreApplication,
    QFileSystemWatcher,
    QMessageLogContext,
    QObject,
    QTimer,
    QtMsgType,
    Signal,
    qInstallMessageHandler,
)

from app.controllers.bridge import EventBridge
from app.core.crash_reports import (
    NativeTrace,
    collect_native_traces,
    format_exception,
    mark_seen,
    reports_dir,
    unseen_reports,
    write_report,
)
from app.core.errors import AppError
from app.core.events import ErrorInfo, Event, JobFailed
from app.core.sentence import Sentence

_log = logging.getLogger(__name__)
_qt_log = logging.getLogger("qt")

# A worker's own page may tell of its end first, with what it was about.
_CALM_MS = 1000
_MAX_REPORTS = 5  # in one run: what breaks in every paint would write thousands
_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


class CrashWatch(QObject):
    """Of the window's process; `install` comes first of all, `start` when somebody listens.

    Signals (all on the GUI thread):
        failed(ErrorInfo): an exception that nobody caught; the program goes on.
        report_found(Path, bool): the latest report that nobody was told of; True where it is of an
            earlier run.
    """

    failed = Signal(object)
    report_found = Signal(object, bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known: set[str] = set()
        self._trace = NativeTrace()
        self._bridge = EventBridge(self)
        self._bridge.received.connect(self._on_received)
        self._watcher = QFileSystemWatcher(self)
        self._calm = QTimer(self)
        self._calm.setSingleShot(True)
        self._calm.setInterval(_CALM_MS)
        self._calm.timeout.connect(self._on_calm_timeout)

    def install(self) -> None:
        """From now on nothing is lost."""
        self._trace.enable()
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        qInstallMessageHandler(self._on_qt_message)

    def start(self) -> None:
        """Tells what earlier runs left, and from now on what breaks in worker processes."""
        collect_native_traces()
        self._tell_unseen(is_earlier=True)
        self._watcher.addPath(str(reports_dir()))
        self._watcher.directoryChanged.connect(self._on_directory_changed)

    def close(self) -> None:
        """The program ends as it should."""
        qInstallMessageHandler(None)
        sys.excepthook, threading.excepthook = sys.__excepthook__, threading.__excepthook__
        self._trace.close()

    def keep(self, error: BaseException) -> Path | None:
        """A report of an exception, unless it is an expected one, or one like those before."""
        trace = format_exception(error)
        if isinstance(error, AppError) or trace in self._known or len(self._known) >= _MAX_REPORTS:
            return None
        self._known.add(trace)
        return write_report("An exception that nobody caught; the program goes on.", trace)

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._on_exception(args.exc_type, args.exc_value, args.exc_traceback)

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            QCoreApplication.quit()
            return
        _log.error("Uncaught exception", exc_info=(kind, error, trace))
        self.keep(error.with_traceback(trace))
        self._bridge.post(JobFailed(_describe(error)))

    def _on_qt_message(self, kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
        _qt_log.log(_LEVELS.get(kind, logging.WARNING), "%s", text)
        if kind is QtMsgType.QtFatalMsg:  # Qt ends the process when this returns
            write_report(f"Qt could not go on: {text}", "")

    def _on_received(self, event: Event) -> None:
        if isinstance(event, JobFailed):
            self.failed.emit(event.error)

    def _on_directory_changed(self) -> None:
        self._calm.start()

    def _on_calm_timeout(self) -> None:
        self._tell_unseen(is_earlier=False)

    def _tell_unseen(self, *, is_earlier: bool) -> None:
        reports = unseen_reports()
        if reports:
            mark_seen(reports)
            self.report_found.emit(reports[0], is_earlier)


def _describe(error: BaseException) -> ErrorInfo:
    if isinstance(error, AppError):
        return ErrorInfo.from_exception(error)
    text = Sentence("Something went wrong inside the program; it goes on running.")
    return ErrorInfo("InternalError", text, repr(error))

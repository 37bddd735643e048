"""The log: one rotating file per process, nothing on the terminal, and no secret in it."""

from __future__ import annotations

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from app.core.secrets import redact

_FORMAT = "%(asctime)s %(levelname)s %(process)d %(threadName)s %(name)s: %(message)s"
_MAX_BYTES = 1_000_000
_NUM_BACKUPS = 3


def configure_logging(path: Path, level: int = logging.INFO) -> None:
    """Sends the root logger and Python's warnings to `path`.

    An unwritable place costs the log, not the start. Each process gets a file of its own:
    Windows cannot rotate a file that another process holds open.
    """
    root = logging.getLogger()
    root.setLevel(level)
    logging.setLogRecordFactory(_create_record)
    root.addHandler(_create_handler(path))
    logging.captureWarnings(True)


class _File(RotatingFileHandler):
    """A full disk costs lines of the log, too, and puts no trace on the terminal."""

    def handleError(self, record: logging.LogRecord) -> None:
        if not isinstance(sys.exc_info()[1], OSError):
            super().handleError(record)


class _Formatter(logging.Formatter):
    """Traces hold values, too."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def _create_record(*args: Any, **options: Any) -> logging.LogRecord:
    """Of any logger, for any handler: a message without secrets."""
    record = logging.LogRecord(*args, **options)
    try:
        message = record.getMessage()
    except (TypeError, ValueError, KeyError):  # the handler reports a message that cannot be made
        return record
    if (clean := redact(message)) != message:
        record.msg, record.args = clean, ()
    return record


def _create_handler(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = _File(
            path,
            maxBytes=_MAX_BYTES,
            backupCount=_NUM_BACKUPS,
            encoding="utf-8",
            errors="backslashreplace",  # names of files need not be UTF-8
        )
    except OSError:
        return logging.NullHandler()
    handler.setFormatter(_Formatter(_FORMAT))
    return handler

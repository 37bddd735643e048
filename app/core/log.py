"""The log: one rotating file per process, nothing on the terminal."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from pathlib import Path

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
    root.addHandler(_create_handler(path))
    logging.captureWarnings(True)


def _create_handler(path: Path) -> logging.Handler:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handler = RotatingFileHandler(
            path, maxBytes=_MAX_BYTES, backupCount=_NUM_BACKUPS, encoding="utf-8", delay=False
        )
    except OSError:
        return logging.NullHandler()
    handler.setFormatter(logging.Formatter(_FORMAT))
    return handler

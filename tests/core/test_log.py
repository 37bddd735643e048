"""The log goes to a rotating file, and its place may be unwritable."""

from __future__ import annotations

import errno
import logging
import subprocess
import sys
import warnings
from collections.abc import Iterator
from logging.handlers import RotatingFileHandler
from pathlib import Path

import pytest

from app.core import secrets
from app.core.log import configure_logging
from app.core.secrets import remember_secret


@pytest.fixture(autouse=True)
def _restore_root_logger(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # What other tests asked models would be hidden in what is logged here.
    monkeypatch.setattr(secrets, "_prompt_lines", {})
    root = logging.getLogger()
    level, handlers, factory = root.level, list(root.handlers), logging.getLogRecordFactory()
    # pytest undoes what it replaces in `warnings`, not what logging remembers of it.
    logging.captureWarnings(False)
    yield
    logging.captureWarnings(False)
    for handler in set(root.handlers) - set(handlers):
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
    logging.setLogRecordFactory(factory)


def test_messages_and_warnings_reach_the_file(tmp_path: Path) -> None:
    path = tmp_path / "日志" / "app.log"
    configure_logging(path)
    logging.getLogger("app.test").info("hello %s", "世界")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        warnings.warn("careful", stacklevel=1)
    text = path.read_text(encoding="utf-8")
    assert "hello 世界" in text
    assert "careful" in text


def test_the_file_rotates(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    configure_logging(path)
    for _ in range(120):
        logging.getLogger("app.test").info("x" * 10_000)
    assert path.stat().st_size <= 1_000_000
    assert path.with_name("app.log.1").exists()


def test_an_unwritable_place_does_not_stop_the_start(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    configure_logging(blocker / "app.log")
    logging.getLogger("app.test").info("goes nowhere")
    assert blocker.read_text() == "not a folder"


def test_secrets_are_in_no_record_and_no_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret, token = "s3cret of mine", "hf_abcdefghijklmnop"
    remember_secret(secret)
    path = tmp_path / "app.log"
    configure_logging(path)
    logger = logging.getLogger("app.test")
    logger.info("%s and %s", secret, {"Authorization": f"Bearer {token}"})
    try:
        raise ValueError(f"Bearer {token} {secret}")
    except ValueError:
        logger.exception("bad %s", token)
    written = path.read_text(encoding="utf-8")
    assert written.count("[secret]") >= 5
    for text in (written, *(record.getMessage() for record in caplog.records)):
        assert secret not in text
        assert token not in text


_LOG_A_NAME = """
import logging, sys
from pathlib import Path
from app.core.log import configure_logging
configure_logging(Path(sys.argv[1]))
logging.getLogger("app.test").error("%s is not there", "mod\\udcff.gguf")
"""


def test_a_name_that_is_no_utf_8_is_logged(tmp_path: Path) -> None:
    """In a process of its own: the name would be in the record of this test, too."""
    command = [sys.executable, "-c", _LOG_A_NAME, str(tmp_path / "app.log")]
    done = subprocess.run(command, capture_output=True, check=True)
    assert r"mod\udcff.gguf is not there" in (tmp_path / "app.log").read_text(encoding="utf-8")
    assert done.stderr == b""


def test_a_full_disk_costs_lines_of_the_log_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    configure_logging(tmp_path / "app.log")
    files = [h for h in logging.getLogger().handlers if isinstance(h, RotatingFileHandler)]
    monkeypatch.setattr(files[0], "flush", refuse)
    logging.getLogger("app.test").error("lost")
    monkeypatch.undo()
    assert capsys.readouterr().err == ""

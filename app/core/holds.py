"""Who uses or writes a folder right now, told across processes; a killed process lets go by itself.

Each hold is a file in `home_dir() / "holds"` beside a locked one: the system unlocks it when its
process ends, however it ends.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from app.core.paths import home_dir
from app.core.sentence import Sentence

_log = logging.getLogger(__name__)


class Hold:
    """`path` is in use from now until `release`; `purpose` ends the sentence "it is ..."."""

    def __init__(self, path: Path, purpose: str) -> None:
        self._note = _holds_dir() / f"{os.getpid()}-{uuid.uuid4().hex}.json"
        # Released by whichever thread closes what it stands for.
        self._lock = FileLock(self._note.with_suffix(".lock"), thread_local=False)
        try:
            self._note.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
            text = json.dumps({"path": str(path.resolve()), "purpose": purpose})
            self._note.write_text(text, encoding="utf-8")
        except (OSError, Timeout) as error:
            # A home that cannot be written to protects nothing, but stops nobody either.
            _log.warning("Nobody is told that %s is %s: %s", path, purpose, error)

    def release(self) -> None:
        """Lets go; again and again without effect."""
        with contextlib.suppress(OSError):
            self._note.unlink(missing_ok=True)
        self._lock.release()
        with contextlib.suppress(OSError):
            Path(self._lock.lock_file).unlink(missing_ok=True)


@contextmanager
def held(path: Path, purpose: str) -> Iterator[None]:
    """A `Hold` on `path` inside."""
    hold = Hold(path, purpose)
    try:
        yield
    finally:
        hold.release()


def read_holds() -> dict[Path, str]:
    """The purpose of every folder or file that is held now; what killed processes left is swept."""
    found: dict[Path, str] = {}
    for note in sorted(_holds_dir().glob("*.json")):
        if _is_alive(note):
            with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
                values = json.loads(note.read_text(encoding="utf-8"))
                found[Path(values["path"])] = Sentence(str(values["purpose"]))
    return found


def find_purpose(path: Path, holds: dict[Path, str] | None = None) -> str:
    """What `path`, something in it or something around it is held for; '' for nothing."""
    place = path.resolve()
    for held_path, purpose in (read_holds() if holds is None else holds).items():
        if place == held_path or place in held_path.parents or held_path in place.parents:
            return purpose
    return ""


def _is_alive(note: Path) -> bool:
    lock = FileLock(note.with_suffix(".lock"), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:
        return False
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
    lock.release()
    with contextlib.suppress(OSError):
        Path(lock.lock_file).unlink(missing_ok=True)
    return False


def _holds_dir() -> Path:
    return home_dir() / "holds"

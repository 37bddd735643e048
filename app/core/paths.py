"""Where things live on this disk. `DEEPINFER_HOME` moves all of it; `portable.txt` in a bundle
moves it beside the programs.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from app.core.frozen import portable_home
from app.core.json_file import read_json

_APP = "DeepInfer"


def home_dir() -> Path:
    """The program's data: settings, chats, logs. Never named cache, never inside the library."""
    if override := os.environ.get("DEEPINFER_HOME"):
        return Path(override)
    return portable_home() or Path(platformdirs.user_data_dir(_APP, appauthor=False))


def default_library_dir() -> Path:
    """The folder of native checkpoints as long as nobody moves it."""
    return home_dir() / "models"


def library_dir() -> Path:
    """The folder of native checkpoints: where the setting of this name says, else the default."""
    try:
        chosen = read_json(settings_path())["library_dir"]
    except (OSError, ValueError, KeyError, TypeError):
        return default_library_dir()
    return Path(chosen) if chosen and isinstance(chosen, str) else default_library_dir()


def settings_path() -> Path:
    """The settings file."""
    return home_dir() / "settings.json"


def keys_dir() -> Path:
    """Keys that the system's keyring cannot keep."""
    return home_dir() / "keys"


def downloads_path() -> Path:
    """The list of downloads that were asked for."""
    return home_dir() / "downloads.json"


def chats_path() -> Path:
    """The conversations' database."""
    return home_dir() / "chats.sqlite3"


def kv_dir() -> Path:
    """The KV caches of conversations: what saves reading them again, and can be made again."""
    return home_dir() / "kv"


def log_path() -> Path:
    """The rotating log."""
    return home_dir() / "logs" / "deepinfer.log"


def worker_log_path(name: str) -> Path:
    """The log of a worker process."""
    return log_path().with_name(f"{name}-worker.log")


def worker_stderr_path(name: str) -> Path:
    """What it prints, and what Python's fault handler writes while it dies."""
    return log_path().with_name(f"{name}-worker-stderr.log")


def resources_dir() -> Path:
    """Icons, styles and texts shipped with the program."""
    return Path(__file__).resolve().parents[2] / "resources"

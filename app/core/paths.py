"""Where things live on this disk. `DEEPINFER_HOME` moves all of it (tests, portable use)."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

_APP = "DeepInfer"


def home_dir() -> Path:
    """The program's data: settings, chats, logs. Never named cache, never inside the library."""
    override = os.environ.get("DEEPINFER_HOME")
    return Path(override) if override else Path(platformdirs.user_data_dir(_APP, appauthor=False))


def library_dir() -> Path:
    """The default folder of native checkpoints."""
    return home_dir() / "models"


def settings_path() -> Path:
    """The settings file."""
    return home_dir() / "settings.json"


def keys_dir() -> Path:
    """Keys that the system's keyring cannot keep."""
    return home_dir() / "keys"


def chats_path() -> Path:
    """The conversations' database."""
    return home_dir() / "chats.sqlite3"


def log_path() -> Path:
    """The rotating log."""
    return home_dir() / "logs" / "deepinfer.log"


def resources_dir() -> Path:
    """Icons, styles and texts shipped with the program."""
    return Path(__file__).resolve().parents[2] / "resources"

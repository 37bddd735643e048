"""What new conversations with a model begin with, where the user has kept something for it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

from app.chat.rows import from_json, to_json
from app.core.sampling_settings import SamplingSettings


@dataclass(frozen=True, slots=True)
class Preset:
    """System prompt and sampling."""

    system_prompt: str = ""
    sampling: SamplingSettings = field(default_factory=SamplingSettings)


def read_preset(connection: sqlite3.Connection, model_name: str) -> Preset | None:
    """That of a model; None where nothing is kept for it."""
    row = connection.execute(
        "SELECT system_prompt, sampling FROM presets WHERE model_name = ?", (model_name,)
    ).fetchone()
    if row is None:
        return None
    sampling = from_json(SamplingSettings, row["sampling"]) or SamplingSettings()
    return Preset(row["system_prompt"], sampling)


def write_preset(connection: sqlite3.Connection, model_name: str, preset: Preset | None) -> None:
    """Keeps it in place of the one before; None forgets that."""
    connection.execute("DELETE FROM presets WHERE model_name = ?", (model_name,))
    if preset is not None:
        connection.execute(
            "INSERT INTO presets (model_name, system_prompt, sampling) VALUES (?, ?, ?)",
            (model_name, preset.system_prompt, to_json(preset.sampling)),
        )

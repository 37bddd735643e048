"""How fast a hub is from here: one small ranged read of a file that every mirror has."""

from __future__ import annotations

import time
from dataclasses import dataclass

from app.core.errors import AppError
from app.hub.client import HubClient
from app.hub.repository import Repository

# Of each hub; said where the button is.
PROBE_BYTES = 1_000_000
_REPO_ID, _PATH = "openai-community/gpt2", "model.safetensors"


@dataclass(frozen=True, slots=True)
class Probe:
    """`first_byte_s` until something came, `bytes_per_s` of all; `problem` says why not."""

    endpoint: str
    first_byte_s: float = 0.0
    bytes_per_s: float = 0.0
    problem: str = ""


def probe(client: HubClient, repo_id: str = _REPO_ID, path: str = _PATH) -> Probe:
    """Reads the first PROBE_BYTES of a file; never raises for a hub that does not answer."""
    anything = Repository(repo_id, "main", (), gated=False, license="", downloads=0)
    started = time.monotonic()
    try:
        client.read_range(anything, path, 0, 1)
        first = time.monotonic() - started
        started = time.monotonic()
        part = client.read_range(anything, path, 0, PROBE_BYTES)
    except AppError as error:
        return Probe(client.base, problem=error.message)
    return Probe(client.base, first, len(part) / max(time.monotonic() - started, 1e-6))

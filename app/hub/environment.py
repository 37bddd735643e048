"""The environment that huggingface_hub reads once, when it is imported, with what the user set."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from typing import Any

from app.core.json_file import read_json
from app.core.paths import settings_path

_LOOPBACK = "localhost,127.0.0.1,::1"


def apply_settings(environment: MutableMapping[str, str] = os.environ) -> None:
    """Folder of the cache and proxy from the settings' file; what is empty there stays as it is.

    Child processes inherit it. A file that cannot be read is told of by whoever opens it.
    """
    # It would tell the hub which packages and tools are on this machine.
    environment["HF_HUB_DISABLE_TELEMETRY"] = "1"
    values = _read()
    if home := _text(values, "hub_home"):
        environment["HF_HOME"] = home
    if proxy := _text(values, "hub_proxy"):
        for name in ("HTTPS_PROXY", "HTTP_PROXY"):
            environment[name] = environment[name.lower()] = proxy
        # The program's own port, and other servers of this machine, are no way out.
        environment.setdefault("NO_PROXY", environment.get("no_proxy", _LOOPBACK))


def _read() -> Mapping[str, Any]:
    try:
        values = read_json(settings_path())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _text(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    return value.strip() if isinstance(value, str) else ""

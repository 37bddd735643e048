"""config.json of a repository on a model hub, and nothing else of it."""

from __future__ import annotations

from typing import Any

from app.converter.sources.hf_folder import read_json


def download_config(repository: str) -> dict[str, Any]:
    """Through huggingface_hub: its cache and proxies count, the hubs of the settings are asked.

    Raises InvalidSourceError for a repository without one or behind a gate, ResourceError when no
    hub answers.
    """
    from app.download.hubs import ask_in_turn, create_clients, read_settings  # a second to import

    clients = create_clients("", read_settings())
    path, _ = ask_in_turn(clients, lambda hub: hub.small_file(repository, "config.json"))
    return read_json(path)

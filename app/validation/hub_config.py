"""config.json of a repository on a model hub, and nothing else of it."""

from __future__ import annotations

from typing import Any

from app.converter.sources.hf_folder import read_json


def download_config(repository: str) -> dict[str, Any]:
    """Through huggingface_hub: its cache, HF_ENDPOINT, HF_TOKEN and proxies count.

    Raises InvalidSourceError for a repository without one or behind a gate, ResourceError when the
    hub does not answer.
    """
    from app.hub.client import HubClient  # a second to import

    return read_json(HubClient().small_file(repository, "config.json"))

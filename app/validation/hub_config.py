"""config.json of a repository on a model hub, and nothing else of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from app.converter.sources.hf_folder import read_json
from app.core.errors import InvalidSourceError, ResourceError


def download_config(repository: str) -> dict[str, Any]:
    """Through huggingface_hub: its cache, HF_ENDPOINT, HF_TOKEN and proxies count.

    Raises InvalidSourceError for a repository without one or behind a gate, ResourceError when the
    hub does not answer.
    """
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
    )

    try:
        path = hf_hub_download(repository, "config.json")
    except GatedRepoError as error:
        sentence = f"{repository} is gated: accept its terms and set HF_TOKEN."
        raise InvalidSourceError(sentence, detail=str(error)) from error
    except RepositoryNotFoundError as error:
        sentence = f"The hub has no repository {repository}, or it is private."
        raise InvalidSourceError(sentence, detail=str(error)) from error
    except LocalEntryNotFoundError as error:
        sentence = f"The hub did not answer, and config.json of {repository} is not cached."
        raise ResourceError(sentence, detail=str(error)) from error
    except EntryNotFoundError as error:
        sentence = f"{repository} has no config.json."
        raise InvalidSourceError(sentence, detail=str(error)) from error
    except OSError as error:  # every failure of HTTP is one
        sentence = f"config.json of {repository} could not be fetched."
        raise ResourceError(sentence, detail=str(error)) from error
    return read_json(Path(path))

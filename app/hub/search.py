"""Repositories by words of their names, as a hub finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from huggingface_hub import HfApi
from huggingface_hub.hf_api import ExpandModelProperty_T, ModelInfo

from app.core.sentence import Sentence
from app.hub.client import HubClient, license_of

MAX_HITS = 30
# Looked through here where the hub finds nothing for all words as they were typed.
_MAX_CANDIDATES = 300
_FACTS: list[ExpandModelProperty_T] = [
    "downloads",
    "likes",
    "gated",
    "cardData",
    "tags",
    "lastModified",
]
# Words that are tags as well: the hub need not find them in a name.
_FORMAT_TAGS = ("gguf", "gptq", "awq", "mlx", "safetensors")
_SEPARATORS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One repository; `updated` is a date (2025-04-27), '' as the licence where it is not said."""

    repo_id: str
    downloads: int
    likes: int
    license: str
    is_gated: bool
    updated: str
    tags: tuple[str, ...] = ()


def search(client: HubClient, words: str, max_hits: int = MAX_HITS) -> tuple[SearchHit, ...]:
    """The most downloaded repositories whose names hold the words; empty where there are none.

    A hub looks for the text as it stands; names have hyphens where people type blanks. So both
    are asked for, and at last the longest word alone, with the others looked for here.
    """
    client.knock()
    parts = words.split()
    for text in dict.fromkeys((" ".join(parts), "-".join(parts))):
        if hits := tuple(_ask(client, text, (), max_hits)):
            return hits
    tags = tuple(word.lower() for word in parts if word.lower() in _FORMAT_TAGS)
    names = [word for word in parts if word.lower() not in _FORMAT_TAGS]
    if len(parts) < 2 or not names:
        return ()
    candidates = _ask(client, max(names, key=len), tags, _MAX_CANDIDATES)
    return tuple(hit for hit in candidates if _holds(hit, names))[:max_hits]


def _ask(client: HubClient, text: str, tags: tuple[str, ...], limit: int) -> Iterator[SearchHit]:
    api = HfApi(endpoint=client.base, token=client.token)
    with client.explained("", Sentence("repositories called {text}", text=text)):
        for info in api.list_models(
            search=text, filter=tags or None, sort="downloads", limit=limit, expand=_FACTS
        ):
            yield _to_hit(info)


def _to_hit(info: ModelInfo) -> SearchHit:
    return SearchHit(
        repo_id=info.id,
        downloads=info.downloads or 0,
        likes=info.likes or 0,
        license=license_of(info),
        is_gated=bool(info.gated),
        updated=info.last_modified.date().isoformat() if info.last_modified else "",
        tags=tuple(info.tags or ()),
    )


def _holds(hit: SearchHit, words: list[str]) -> bool:
    """Whether the name holds all words, whatever stands between their letters."""
    name = _SEPARATORS.sub("", hit.repo_id.lower())
    return all(_SEPARATORS.sub("", word.lower()) in name for word in words)

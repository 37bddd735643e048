"""The hubs that are asked: the official one, mirrors, and one's own."""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from app.core.errors import UsageError
from app.core.settings import Settings

OFFICIAL = "https://huggingface.co"
# Offered, never asked unless the user chooses it; it serves the same files under the same hashes.
PUBLIC_MIRROR = "https://hf-mirror.com"
_SCHEMES = ("http", "https")
# A name or an address, with a port; no user in front of it.
_HOST = re.compile(r"([\w.-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?")


def environment_endpoint() -> str:
    """HF_ENDPOINT, or the official hub: what huggingface_hub itself takes, and HF_TOKEN's home."""
    return os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or OFFICIAL


def normalize(address: str) -> str:
    """`hub.example` or `http://hub.example/` as an endpoint; raises UsageError for what is none."""
    text = address.strip().rstrip("/")
    refusal = UsageError(
        "{address!r} is not the address of a hub (https://host).", address=address.strip()
    )
    try:
        url = urlsplit(text if "://" in text else f"https://{text}")
    except ValueError as error:  # brackets that hold no IPv6 address
        raise refusal from error
    if url.scheme not in _SCHEMES or not _HOST.fullmatch(url.netloc) or url.query:
        raise refusal
    return f"{url.scheme}://{url.netloc.lower()}{url.path}"


def host_of(endpoint: str) -> str:
    """What a token belongs to: the host with its port; plain http is another place than https."""
    scheme, _, rest = endpoint.partition("://")
    host = rest.partition("/")[0].lower()
    return host if scheme == "https" else f"{scheme}://{host}"


def asked(settings: Settings) -> tuple[str, ...]:
    """In order; the later ones only where the first does not answer. Bad addresses are left out."""
    first = _valid(settings.hub_endpoint)[:1] or (environment_endpoint(),)
    return tuple(dict.fromkeys((*first, *_valid(settings.hub_mirrors))))


def offered(settings: Settings) -> tuple[str, ...]:
    """All that the user can choose from, those that are asked first."""
    known = (environment_endpoint(), OFFICIAL, PUBLIC_MIRROR)
    return tuple(dict.fromkeys((*asked(settings), *known)))


def _valid(addresses: str) -> tuple[str, ...]:
    found = []
    for address in addresses.replace(",", " ").split():
        try:
            found.append(normalize(address))
        except UsageError:
            continue
    return tuple(found)

"""Where another server is, and what of it is asked."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit, urlunsplit

from app.core.errors import UsageError

_ENDPOINTS = ("/chat/completions", "/completions", "/models")


@dataclass(frozen=True, slots=True)
class RemoteEndpoint:
    """`base_url` as `parse_base_url` gives it; `model` '' is the first that the server lists."""

    base_url: str
    model: str = ""
    api_key: str = field(default="", repr=False)

    @property
    def is_near(self) -> bool:
        """Whether it is on this machine: then no proxy stands between."""
        return is_loopback(urlsplit(self.base_url).hostname or "")

    @property
    def is_key_exposed(self) -> bool:
        """Whether the key would travel unencrypted to another machine."""
        return bool(self.api_key) and self.base_url.startswith("http:") and not self.is_near


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """One entry of `/v1/models`; `max_model_len` None where the server does not tell."""

    name: str
    max_model_len: int | None = None


def parse_base_url(text: str) -> str:
    """The base URL that was meant: with a scheme, without the endpoint that may have been copied
    along, and with `/v1` where there is no path. Raises UsageError.
    """
    bare = text.strip()
    parts = _split(bare if "://" in bare else f"//{bare}")
    if parts.scheme not in ("", "http", "https") or not parts.hostname or parts.query:
        raise UsageError(
            "{text!r} is not the address of a server, like http://127.0.0.1:8000/v1.", text=text
        )
    scheme = parts.scheme or ("http" if _is_local_name(parts.hostname) else "https")
    return urlunsplit((scheme, parts.netloc, _base_path(parts.path), "", ""))


def is_loopback(host: str) -> bool:
    """Whether this name is this machine's own."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises where it is no number
    except ValueError as error:
        raise UsageError(
            "{address!r} is not an address: {error}.", address=text.removeprefix("//"), error=error
        ) from error
    if parts.username is not None:
        raise UsageError("An address holds no name and password; write the key below it.")
    return parts


def _is_local_name(host: str) -> bool:
    """Names without a dot and addresses: machines of one's own, which rarely have certificates."""
    return "." not in host or host.replace(".", "").isdigit() or ":" in host


def _base_path(path: str) -> str:
    path = path.rstrip("/")
    for endpoint in _ENDPOINTS:
        path = path.removesuffix(endpoint)
    return path or "/v1"

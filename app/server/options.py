"""How the port is opened, and its limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from app.core.errors import UsageError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8231
DEFAULT_MAX_REQUESTS = 64


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """`host` other than this machine's own needs an `api_key`; '' is no key.

    max_requests: so many are worked on or wait; the next one is told to come again (429).
    keep_alive_s: a stream that has nothing to say sends a comment so often. header_timeout_s and
    body_timeout_s: how long a client may take to send those; send_timeout_s: to read what was sent.
    max_buffered_events: tokens that wait for a client that reads slowly; behind these, its request
    is cancelled.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    api_key: str = ""
    max_requests: int = DEFAULT_MAX_REQUESTS
    keep_alive_s: float = 10.0
    max_header_bytes: int = 32 << 10
    max_body_bytes: int = 16 << 20
    header_timeout_s: float = 10.0
    body_timeout_s: float = 30.0
    send_timeout_s: float = 30.0
    max_buffered_events: int = 4096

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine can reach the port."""
        return is_loopback_host(self.host)

    def check(self) -> None:
        """Raises UsageError for options that must not be."""
        if not self.is_loopback and not self.api_key:
            raise UsageError(
                "{host} can be reached from other machines, so the port needs a key: "
                "give it an API key, or stay on 127.0.0.1.",
                host=self.host,
            )
        if not 0 <= self.port <= 65535:
            raise UsageError("A port is a number up to 65535, not {port}.", port=self.port)


def is_loopback_host(host: str) -> bool:
    """`localhost`, and addresses that never leave this machine."""
    if host.lower() == "localhost":
        return True
    address = parse_address(host)
    return address is not None and address.is_loopback


def parse_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that `host` writes, with or without brackets; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None

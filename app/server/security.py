"""Who may ask: checks of Host, Origin and key before anything else is looked at.

A web page can make its visitor's browser send requests to this machine. It cannot read the answers
without a CORS header, which is never sent; and its requests carry its own Origin, or, where a name
of its own was made to point here (DNS rebinding), its own Host. Both are refused with 403.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from app.server.error_map import ApiError, create_error_response
from app.server.options import ServerOptions, is_loopback_host, parse_address

_OPEN_PATHS = ("/", "/health")  # so that a monitor needs no key
_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


class Gate:
    """ASGI middleware; outermost."""

    def __init__(self, app: ASGIApp, options: ServerOptions) -> None:
        self._app = app
        self._key = options.api_key.encode()
        self._takes_addresses = not options.is_loopback
        self._hosts = _known_hosts(options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._check(scope)
            except ApiError as refusal:
                await create_error_response(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        host = _only(headers, b"host")
        if not self._is_own(host):
            raise ApiError(403, "The Host header names another machine.", code="forbidden_host")
        origins = _values(headers, b"origin")
        if any(not _is_same_origin(origin, host or "") for origin in origins):
            raise ApiError(
                403, "Web pages of other origins may not use this port.", code="forbidden_origin"
            )
        if self._key and scope["path"] not in _OPEN_PATHS:
            self._check_key(_only(headers, b"authorization") or "")

    def _is_own(self, host: str | None) -> bool:
        """Where other machines may ask, any address is: only names can be made to point here."""
        name = _host_name(host or "")
        if self._takes_addresses and parse_address(name) is not None:
            return True
        return name in self._hosts

    def _check_key(self, authorization: str) -> None:
        scheme, _, key = authorization.partition(" ")
        given = key.strip().encode("latin-1")  # the bytes that came
        if scheme.lower() != "bearer" or not hmac.compare_digest(given, self._key):
            raise ApiError(
                401,
                "The API key is missing or wrong; it goes into the header "
                "`Authorization: Bearer KEY`.",
                code="invalid_api_key",
                headers={"WWW-Authenticate": "Bearer"},
            )


def _known_hosts(options: ServerOptions) -> frozenset[str]:
    own = options.host.strip("[]").lower()
    if is_loopback_host(own):
        return frozenset((own, *_LOOPBACK_HOSTS))
    name = socket.gethostname().lower()
    return frozenset((own, name, f"{name}.local", *_LOOPBACK_HOSTS))


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def _only(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> str | None:
    """None also where there are several: one of them would be believed, another one meant."""
    values = _values(headers, name)
    return values[0] if len(values) == 1 else None


def _host_name(host: str) -> str:
    """Of `name:port` or `[address]:port`, without brackets; '' for what is neither."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _is_same_origin(origin: str, host: str) -> bool:
    return origin.lower() == f"http://{host.lower()}"

"""A client that can be as rude as it likes: bytes over a socket."""

from __future__ import annotations

import json
import socket
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from app.server.runner import ServerRunner

_TIMEOUT_S = 60


class RawClient:
    """One connection to a port; a context manager that closes it."""

    def __init__(self, server: ServerRunner) -> None:
        address = urlsplit(server.base_url)
        self.host = address.netloc
        assert address.hostname
        assert address.port
        self._socket = socket.create_connection((address.hostname, address.port), _TIMEOUT_S)

    def send(self, data: bytes) -> None:
        """As it is."""
        self._socket.sendall(data)

    def post(self, path: str, body: object, headers: str = "") -> None:
        """A whole request."""
        content = json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(content)}\r\n{headers}\r\n"
        self.send(head.encode() + content)

    def read_until(self, end: bytes) -> bytes:
        """All bytes up to where `end` was seen, and maybe some more; fails at the end of all."""
        data = b""
        while end not in data:
            piece = self._socket.recv(65536)
            assert piece, data
            data += piece
        return data

    def read_all(self) -> bytes:
        """Until the other side closes; a reset is an end too."""
        data = b""
        try:
            while piece := self._socket.recv(65536):
                data += piece
        except ConnectionResetError:
            pass
        return data

    def close(self) -> None:
        """Without a word."""
        self._socket.close()

    def __enter__(self) -> RawClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def long_story(max_tokens: int = 900, **further: Any) -> dict[str, Any]:
    """A body whose reply takes long."""
    message = {"role": "user", "content": "Tell a long story."}
    fields = {"stream": True, "max_tokens": max_tokens, "ignore_eos": True, "temperature": 0}
    return {"messages": [message], **fields, **further}

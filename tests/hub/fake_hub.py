"""A model hub on loopback: real HTTP, two hosts, and whatever can go wrong, on order."""

from __future__ import annotations

import hashlib
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_RESOLVE = re.compile(r"/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
_API = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)(?:/revision/(?P<revision>.+))?")
_STEP_BYTES = 1 << 14
_SEND_BUFFER_BYTES = 1 << 16


@dataclass
class Request:
    """One that came; `sent` counts the bytes of a file that went out from `start` on."""

    host: str
    method: str
    path: str
    start: int | None
    authorization: str | None
    sent: int = 0
    query: str = ""


@dataclass
class FakeFile:
    """Bytes, or a file on disk, which may be sparse and has a digest only where it is given."""

    content: bytes | Path
    is_large: bool = True
    known_digest: str = "f" * 64

    @property
    def num_bytes(self) -> int:
        is_path = isinstance(self.content, Path)
        return self.content.stat().st_size if is_path else len(self.content)

    def digest(self) -> str:
        if isinstance(self.content, Path):
            return self.known_digest
        if self.is_large:
            return hashlib.sha256(self.content).hexdigest()
        header = b"blob %d\0" % len(self.content)
        return hashlib.sha1(header + self.content).hexdigest()

    def read(self, start: int, stop: int) -> bytes:
        if isinstance(self.content, Path):
            with self.content.open("rb") as stream:
                stream.seek(start)
                return stream.read(stop - start)
        return self.content[start:stop]


@dataclass
class Faults:
    """What goes wrong; the lists are used up, one entry for each answer that carries a large
    file."""

    cuts: list[int] = field(default_factory=list)  # reset after so many bytes
    silences: list[int] = field(default_factory=list)  # silent after so many bytes
    wrong: list[str] = field(default_factory=list)  # files that come with a flipped bit
    refusals: list[tuple[int, dict[str, str]] | None] = field(default_factory=list)  # no file
    status: dict[str, tuple[int, dict[str, str], str]] = field(default_factory=dict)  # always
    is_deaf: bool = False  # sends whole files, whatever range was asked for
    pause_s: float = 0.0  # between steps of 16 KiB
    api_pause_s: float = 0.0  # before an answer about a repository, or to a search
    renamed: dict[str, str] = field(default_factory=dict)  # repositories that have moved


class FakeHub:
    """`endpoint` is the hub; large files are redirected to `store`, another host."""

    def __init__(self) -> None:
        self.repos: dict[str, dict[str, FakeFile]] = {}
        self.facts: dict[str, dict[str, Any]] = {}
        self.faults = Faults()
        self.requests: list[Request] = []
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.step_bytes = _STEP_BYTES
        self._servers = [_Server(self), _Server(self)]
        self.endpoint, self.store = (
            f"http://{host}:{server.server_port}"
            for host, server in zip(("127.0.0.1", "localhost"), self._servers, strict=True)
        )

    def add(self, repo_id: str, files: Mapping[str, bytes | Path], **facts: Any) -> None:
        """A repository; files that end in .json, .txt or .jinja are small ones of Git."""
        self.repos[repo_id] = {
            name: FakeFile(content, not name.endswith((".json", ".txt", ".jinja")))
            for name, content in files.items()
        }
        self.facts[repo_id] = facts

    def sent(self, name: str) -> list[Request]:
        """The answers that carried bytes of a file, in order."""
        with self.lock:
            return [r for r in self.requests if r.path.endswith(name) and r.start is not None]

    def take(self, orders: list[Any]) -> Any:
        """The next of a list of faults, None when there are no more."""
        with self.lock:
            return orders.pop(0) if orders else None

    @contextmanager
    def running(self) -> Iterator[FakeHub]:
        threads = [
            threading.Thread(target=server.serve_forever, args=(0.02,)) for server in self._servers
        ]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self.ended.set()
            for server in self._servers:
                server.shutdown()
                server.server_close()
            for thread in threads:
                thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # joined by server_close

    def __init__(self, hub: FakeHub) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed is nothing to report."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 5

    def setup(self) -> None:
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER_BYTES)
        super().setup()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub, path = self.server.hub, unquote(urlsplit(self.path).path)
        request = Request(
            self.headers["Host"], self.command, path, None, self.headers["Authorization"]
        )
        request.query = urlsplit(self.path).query
        with hub.lock:
            hub.requests.append(request)
        api, file = _API.fullmatch(path), _RESOLVE.fullmatch(path)
        match = api or file
        if "/api/" in path and hub.faults.api_pause_s:
            hub.ended.wait(hub.faults.api_pause_s)
        if path == "/api/models":
            self._search(parse_qs(request.query))
        elif match is not None and match["repo"] in hub.faults.renamed:
            new = hub.faults.renamed[match["repo"]]
            self._send(307, {"Location": self.path.replace(match["repo"], new)}, b"")
        elif match is None or match["repo"] not in hub.repos:
            self._refuse(401, {"X-Error-Code": "RepoNotFound"}, "Repository not found")
        elif (match["revision"] or "main") not in ("main", COMMIT):
            self._refuse(404, {"X-Error-Code": "RevisionNotFound"}, "Invalid rev id")
        elif api:
            status = hub.faults.status.get("api")
            self._refuse(*status) if status else self._list(match["repo"])
        else:
            self._resolve(request, match["repo"], match["path"])

    def _search(self, query: Mapping[str, list[str]]) -> None:
        """As the real one: the text stands in the name as it is, and all tags are there."""
        hub = self.server.hub
        status = hub.faults.status.get("search")
        if status:
            self._refuse(*status)
            return
        text, tags = query.get("search", [""])[0].lower(), query.get("filter", [])
        found = [
            {"id": repo_id, "downloads": 7, "likes": 0, "gated": False, "tags": [], **facts}
            for repo_id, facts in hub.facts.items()
            if text in repo_id.lower() and set(tags) <= set(facts.get("tags", ()))
        ]
        found.sort(key=lambda entry: -entry["downloads"])
        limit = int(query.get("limit", ["1000"])[0])
        body = json.dumps(found[:limit]).encode()
        self._send(200, {"Content-Type": "application/json"}, body)

    def _list(self, repo_id: str) -> None:
        siblings = []
        for name, file in self.server.hub.repos[repo_id].items():
            sibling = {"rfilename": name, "size": file.num_bytes, "blobId": file.digest()[:40]}
            if file.is_large:
                sha = {"sha256": file.digest(), "size": file.num_bytes, "pointerSize": 134}
                sibling |= {"lfs": sha}
            siblings.append(sibling)
        facts = {"gated": False, "downloads": 7, **self.server.hub.facts[repo_id]}
        document = {"id": repo_id, "sha": COMMIT, "siblings": siblings, **facts}
        self._send(200, {"Content-Type": "application/json"}, json.dumps(document).encode())

    def _resolve(self, request: Request, repo_id: str, name: str) -> None:
        hub = self.server.hub
        file = hub.repos[repo_id].get(name)
        status = hub.faults.status.get(name)
        headers = {"X-Repo-Commit": COMMIT}
        if status:
            self._refuse(*status)
        elif file is None:
            self._refuse(404, headers | {"X-Error-Code": "EntryNotFound"}, "Entry not found")
        elif file.is_large and request.host in hub.endpoint:
            headers |= {"X-Linked-Etag": f'"{file.digest()}"', "Location": hub.store + self.path}
            self._send(302, headers | {"X-Linked-Size": str(file.num_bytes)}, b"")
        else:
            self._send_file(request, name, file, headers | {"ETag": f'"{file.digest()}"'})

    def _send_file(
        self, request: Request, name: str, file: FakeFile, headers: dict[str, str]
    ) -> None:
        faults = self.server.hub.faults
        refusal = self.server.hub.take(faults.refusals) if self.command == "GET" else None
        if refusal is not None:
            self._refuse(*refusal, "no")
            return
        start, stop = self._range(file.num_bytes)
        is_part = (start, stop) != (0, file.num_bytes)
        if is_part:
            headers |= {"Content-Range": f"bytes {start}-{stop - 1}/{file.num_bytes}"}
        self.send_response(206 if is_part else 200)
        for key, value in {**headers, "Content-Length": str(stop - start)}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            request.start = start
            self._stream(request, name, file, stop)

    def _range(self, num_bytes: int) -> tuple[int, int]:
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers["Range"] or "")
        if match is None or self.server.hub.faults.is_deaf:
            return 0, num_bytes
        return int(match[1]), min(num_bytes, int(match[2]) + 1 if match[2] else num_bytes)

    def _stream(self, request: Request, name: str, file: FakeFile, stop: int) -> None:
        hub, faults = self.server.hub, self.server.hub.faults
        cut, silence = (
            hub.take(orders) if file.is_large else None for orders in (faults.cuts, faults.silences)
        )
        is_wrong = name in faults.wrong
        if is_wrong:
            faults.wrong.remove(name)
        at = request.start or 0
        last = min(x for x in (stop, at + (cut or stop), at + (silence or stop)))
        while at < last:
            data = file.read(at, min(last, at + hub.step_bytes))
            if is_wrong:
                data, is_wrong = bytes([data[0] ^ 1]) + data[1:], False
            request.sent += len(data)  # first: whoever has the bytes may look at once
            try:
                self.wfile.write(data)
            except OSError:
                request.sent -= len(data)
                raise
            at += len(data)
            if faults.pause_s:
                time.sleep(faults.pause_s)
        if at < stop and silence is not None:
            hub.ended.wait(20)
        if at < stop:
            self._reset()

    def _reset(self) -> None:
        """Ends the connection with a reset, as a router that forgets it does."""
        linger = struct.pack("ii", 1, 0)
        self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.request.close()
        self.close_connection = True

    def _refuse(self, status: int, headers: Mapping[str, str], message: str) -> None:
        body = json.dumps({"error": message}).encode()
        self._send(status, {**headers, "X-Error-Message": message}, body)

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

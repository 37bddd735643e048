"""A repository's config.json through huggingface_hub, from a hub on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.validation_tools import write_config

REPOSITORY = "someone/tiny-qwen"
COMMIT = "a" * 40
_PROGRAM = "import sys; from app.cli.main import main; sys.exit(main(sys.argv[1:]))"


@dataclass
class Hub:
    """Serves one file and remembers what was asked for."""

    config: bytes
    asked: list[str] = field(default_factory=list)
    endpoint: str = ""

    def answer(self, path: str) -> tuple[int, bytes]:
        self.asked.append(path)
        known = path == f"/{REPOSITORY}/resolve/main/config.json"
        return (200, self.config) if known else (404, b"")


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    """config.json of a tiny Qwen3, and nothing else."""
    folder = write_config(tmp_path / "published", "qwen3", head_dim=16)
    served = Hub((folder / "config.json").read_bytes())
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(served))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    served.endpoint = f"http://127.0.0.1:{server.server_port}"
    yield served
    server.shutdown()
    server.server_close()
    thread.join()


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def _answer(self, *, with_body: bool) -> None:
            status, body = hub.answer(self.path)
            self.send_response(status)
            if status != 200:
                self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", '"0123456789abcdef"')
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _validate(hub: Hub, repository: str, home: Path) -> subprocess.CompletedProcess[str]:
    """In a process of its own: huggingface_hub reads its settings once."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("HF_", "http"))
    }
    environment |= {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(home),
        "HF_HUB_DISABLE_XET": "1",
        "NO_PROXY": "127.0.0.1",
    }
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, "validate", repository, "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=Path(__file__).resolve().parents[2],
    )


def test_config_json_is_enough(hub: Hub, tmp_path: Path) -> None:
    ran = _validate(hub, REPOSITORY, tmp_path / "hf")
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    rows = {check["name"]: check for check in document["checks"]}
    passed = {name for name, check in rows.items() if check["status"] == "pass"}
    assert {"recognised", "differences_model", "smoke_one_layer", "smoke_two_layers"} <= passed
    assert rows["weights"]["detail"] == "only config.json was given."
    assert "fail" not in {check["status"] for check in rows.values()}
    assert document["report"]["name"] == "tiny-qwen"
    asked = {path for path in hub.asked if path.startswith(f"/{REPOSITORY}/")}
    assert asked == {f"/{REPOSITORY}/resolve/main/config.json"}


def test_a_repository_that_is_not_there(hub: Hub, tmp_path: Path) -> None:
    ran = _validate(hub, "someone/nothing", tmp_path / "hf")
    assert ran.returncode == 1
    last = ran.stderr.rstrip().splitlines()[-1]
    assert last == "deepinfer: The hub has no repository someone/nothing, or it is private."

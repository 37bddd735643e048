"""`deepinfer serve` as a process: it says where it is, answers, and ends at Ctrl+C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
import uvicorn

from app.cli.main import main
from app.server import runner
from app.server.service import Service

# The tests that end the process need signals: on Windows a console's Ctrl+C cannot be sent to one.
needs_signals = pytest.mark.skipif(os.name == "nt", reason="no signals to one process")


@contextmanager
def _serve(model: Path, *options: str, key: str = "") -> Iterator[subprocess.Popen[str]]:
    """Ctrl+C reaches the process alone."""
    command = [sys.executable, "-m", "app", "serve", str(model), "--port", "0", "--device", "cpu"]
    process = subprocess.Popen(
        [*command, "--ctx", "256", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "DEEPINFER_API_KEY": key},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@needs_signals
def test_it_prints_where_it_is_and_ends_at_an_interrupt(starter_checkpoint: Path) -> None:
    with _serve(starter_checkpoint) as process:
        assert process.stdout
        base_url = process.stdout.readline().strip()
        assert base_url.startswith("http://127.0.0.1:")
        reply = httpx2.post(
            f"{base_url}/completions", json={"prompt": "a", "max_tokens": 2}, timeout=60
        )
        assert reply.status_code == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert "200 /v1/completions python-httpx" in err
    assert err.endswith("The port is closed.\n")


@needs_signals
def test_its_document_and_a_key_of_the_environment(starter_checkpoint: Path) -> None:
    with _serve(starter_checkpoint, "--json", key="k") as process:
        assert process.stdout
        lines = [process.stdout.readline()]
        while lines[-1].rstrip() != "}":
            lines.append(process.stdout.readline())
        document = json.loads("".join(lines))
        assert (document["needs_key"], document["max_model_len"]) == (True, 256)
        assert httpx2.get(f"{document['base_url']}/models", timeout=60).status_code == 401
        headers = {"authorization": "Bearer k"}
        reply = httpx2.get(f"{document['base_url']}/models", headers=headers, timeout=60)
        assert reply.json()["data"][0]["id"] == document["model"]
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_server_that_ends_by_itself_ends_the_command(
    starter_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def break_down(_counter: int) -> bool:
        raise RuntimeError("broken")

    def create_server(service: Service) -> uvicorn.Server:
        server = create(service)
        server.on_tick = break_down  # of this one alone: the class is other tests', too
        return server

    create = runner._create_server
    monkeypatch.setattr(runner, "_create_server", create_server)
    options = ["--port", "0", "--device", "cpu", "--ctx", "256"]
    assert main(["serve", str(starter_checkpoint), *options]) == 1
    assert capsys.readouterr().err.endswith(
        "deepinfer: The server ended by itself; the log has the reason.\n"
    )


def test_other_machines_need_a_key_before_anything_is_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["serve", "no-such-model", "--host", "0.0.0.0"]) == 2
    assert "needs a key" in capsys.readouterr().err

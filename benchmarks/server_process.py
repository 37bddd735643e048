"""Servers in processes of their own: ours, llama.cpp's, and llama-cpp-python's."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

BINARY = "DEEPINFER_LLAMA_SERVER"
INTERPRETER = "DEEPINFER_LLAMA_CPP_PYTHON"
_START_S = 120.0
_STOP_S = 20.0


@contextmanager
def run_server(command: Sequence[str], port: int) -> Iterator[tuple[str, int]]:
    """Base URL and process id, once models are listed; the process is ended behind the block."""
    base_url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)
        try:
            if not _is_ready(base_url, process):
                log.seek(0)
                said = log.read().decode(errors="replace")[-2000:]
                raise SystemExit(f"A server did not start ({process.args!r}): {said}")
            yield base_url, process.pid
        finally:
            process.terminate()
            process.wait(_STOP_S)


def own_command(native: Path, port: int, context_len: int) -> list[str]:
    """With `default_num_threads` threads."""
    command = [sys.executable, "-m", "app", "serve", str(native), "--device", "cpu"]
    return [*command, "--port", str(port), "--ctx", str(context_len)]


def llama_commands(
    gguf: Path, port: int, num_threads: int, num_slots: int, context_len: int
) -> dict[str, list[str]]:
    """The servers that the environment names, by name; with as many slots as we have."""
    found = {}
    binary, interpreter = os.environ.get(BINARY), os.environ.get(INTERPRETER)
    threads = str(num_threads)
    if binary:
        command = [binary, "-m", str(gguf), "--port", str(port), "-t", threads, "-tb", threads]
        command += ["-np", str(num_slots), "-c", str(num_slots * context_len), "--no-webui"]
        found["llama-server"] = command
    elif interpreter and _has_server(interpreter):
        command = [interpreter, "-m", "llama_cpp.server", "--model", str(gguf), "--port", str(port)]
        command += ["--n_threads", threads, "--n_ctx", str(context_len)]
        found["llama-cpp-python"] = command
    return found


def find_port() -> int:
    """One that is free now."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return int(listener.getsockname()[1])


def _has_server(interpreter: str) -> bool:
    command = [interpreter, "-c", "import llama_cpp.server.app"]
    return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0


def _is_ready(base_url: str, process: subprocess.Popen[bytes]) -> bool:
    deadline_s = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < deadline_s:
        try:
            with urllib.request.urlopen(f"{base_url}/v1/models") as reply:
                if b'"data":[{' in reply.read().replace(b" ", b""):
                    return True
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    return False

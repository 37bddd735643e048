"""How late the window's event loop is while a model comes over loopback as fast as it can.

The real window and its real worker; the hub is a process of its own, as others are on a network.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.core.download_events import DownloadFinished, RepositoryFound
from benchmarks.lateness import Lateness
from benchmarks.measure import Figures, command_line, own_home, print_json
from benchmarks.window import WindowDriver

_REPO = "org/Big"
_REST_S = 5.0  # what this machine is like without a download
_NUM_SHARDS, _SHARD_BYTES = 4, 384 << 20
_CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 1024,
    "intermediate_size": 4096, "num_attention_heads": 16, "num_hidden_layers": 24,
    "vocab_size": 32000, "rms_norm_eps": 1e-5, "max_position_embeddings": 4096,
}  # fmt: skip
_SERVER = """
import json, sys
from pathlib import Path
from tests.hub.fake_hub import FakeFile, FakeHub
folder = Path(sys.argv[1])
digests = json.loads((folder / "digests.json").read_text())
with FakeHub().running() as hub:
    hub.step_bytes = 1 << 20
    hub.add(sys.argv[2], {"config.json": (folder / "config.json").read_bytes()})
    for name, digest in digests.items():
        hub.repos[sys.argv[2]][name] = FakeFile(folder / name, known_digest=digest)
    print(hub.endpoint, flush=True)
    sys.stdin.read()
"""


def measure() -> dict[str, Figures]:
    """Percentiles in milliseconds, and the speed that they were measured at."""
    with own_home() as home, _served(home / "served") as endpoint:
        os.environ |= {"HF_ENDPOINT": endpoint, "HF_HOME": str(home / "hf"), "HF_HUB_OFFLINE": "0"}
        os.environ["NO_PROXY"] = "127.0.0.1,localhost"
        with WindowDriver(download_threads=_NUM_SHARDS) as driver:
            return _download(driver)


def _download(driver: WindowDriver) -> dict[str, Figures]:
    downloads = driver.controllers.download
    driver.window.show_page(driver.window.download_page)
    found: list[RepositoryFound] = []
    finished: list[DownloadFinished] = []
    downloads.hub.found.connect(found.append)
    downloads.finished.connect(lambda _key, event: finished.append(event))
    downloads.hub.submit(_REPO)
    driver.wait_until(lambda: bool(found), "the repository")
    driver.rest(1.0)
    with Lateness() as at_rest:
        driver.rest(_REST_S)
    with Lateness() as lateness:
        downloads.enqueue(found[0], found[0].models[0])
        driver.wait_until(lambda: bool(finished), "the download")
    event = finished[0]
    speed = {"seconds": event.seconds, "mb_per_s": event.num_bytes / event.seconds / 1e6}
    return {"at rest": at_rest.figures(), "download": lateness.figures() | speed}


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """A hub with a model of several shards; gives its address."""
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(_CONFIG), encoding="utf-8")
    names = [f"model-{n:05d}-of-{_NUM_SHARDS:05d}.safetensors" for n in range(1, _NUM_SHARDS + 1)]
    digests = {name: _write_shard(folder / name, name.encode()) for name in names}
    (folder / "digests.json").write_text(json.dumps(digests), encoding="utf-8")
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(folder), _REPO],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[1],
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.stdin.close()
        server.wait()
        shutil.rmtree(folder)


def _write_shard(path: Path, start: bytes) -> str:
    """A sparse file that begins with `start`; returns its sha256."""
    digest, zeros = hashlib.sha256(start), bytes(1 << 20)
    path.write_bytes(start)
    os.truncate(path, _SHARD_BYTES)
    left = _SHARD_BYTES - len(start)
    while left:
        digest.update(zeros[:left])
        left -= min(left, len(zeros))
    return digest.hexdigest()


if __name__ == "__main__":
    command_line(__doc__).parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    print_json(measure())

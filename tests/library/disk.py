"""Things that lie on a disk: tiny models, checkpoints made of them, and the hub's cache."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.converter.pipeline import convert
from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf
from tests.hub import fake_hub
from tests.hub.fake_hub import FakeHub

_SNAPSHOT = """
import sys
from pathlib import Path
from huggingface_hub import hf_hub_download
for name in sys.argv[3:]:
    path = Path(hf_hub_download(sys.argv[1], name, revision=sys.argv[2]))
    print(path.parents[name.count("/")])
"""
# As on Windows without its developer mode: files are copied, where links would stand.
_WITHOUT_LINKS = """
import os
from huggingface_hub import file_download
def refuse(*args, **kwargs):
    raise OSError("no links here")
os.symlink = refuse
file_download.are_symlinks_supported = lambda cache_dir=None: False
"""


def write_tiny_gguf(path: Path, seed: int = 0) -> Path:
    """A whole model of some 100 KB."""
    path.parent.mkdir(parents=True, exist_ok=True)
    model = TinyModel(vocab=300 + seed, hidden=64, heads=2, kv_heads=1)
    return write_gguf(path, model, to_gguf_tensors(model, model.weights()))


def convert_tiny(library: Path, name: str, seed: int = 0) -> Path:
    """A checkpoint of the library, made by the converter."""
    source = write_tiny_gguf(library.parent / "sources" / f"{Path(name).name}.gguf", seed)
    convert(source, library / name, grid="exact")
    return library / name


def fetch_snapshot(
    hub: FakeHub, cache: Path, repo_id: str, revision: str = "main", *, has_links: bool = True
) -> Path:
    """What huggingface_hub itself puts into its cache."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "http"))}
    environment |= {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HUB_CACHE": str(cache),
        "NO_PROXY": "127.0.0.1,localhost",
    }
    program = ("" if has_links else _WITHOUT_LINKS) + _SNAPSHOT
    found = subprocess.run(
        [sys.executable, "-c", program, repo_id, revision, *hub.repos[repo_id]],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert found.returncode == 0, found.stderr
    return Path(found.stdout.splitlines()[-1])


def fetch_commit(
    monkeypatch: pytest.MonkeyPatch,
    hub: FakeHub,
    cache: Path,
    repo_id: str,
    commit: str,
    files: Mapping[str, bytes],
) -> Path:
    """`main` means this commit from now on."""
    monkeypatch.setattr(fake_hub, "COMMIT", commit)
    hub.add(repo_id, files)
    return fetch_snapshot(hub, cache, repo_id)


def read_bytes(path: Path) -> bytes:
    """Of a tiny GGUF, written for this."""
    return write_tiny_gguf(path).read_bytes()


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file below with its bytes, every folder without."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }

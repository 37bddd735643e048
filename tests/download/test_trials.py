"""Faults that users of other programs met, and what happens here (rows of the trials)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from huggingface_hub import constants

from app.cli.main import main
from app.core.paths import home_dir
from app.download.transfer import CHUNK_BYTES
from tests.hub.fake_hub import FakeHub
from tests.hub.padded_gguf import padded_gguf
from tests.hub.pulling import TOKEN, partial_bytes, run, start
from tests.hub.small_config import small_config

REPO, NAME = "org/Model-GGUF", "Model-Q8_0.gguf"
SIZE = 6_000_000
# What may be under way in the buffers of both ends.
_BUFFERED_BYTES = 1 << 18


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    """One quantization of a tiny model, 6 MB at about 8 MB/s."""
    with FakeHub().running() as hub:
        hub.add(REPO, {NAME: padded_gguf(tmp_path, SIZE)})
        hub.faults.pause_s = 0.002
        yield hub


def _content(hub: FakeHub) -> bytes:
    content = hub.repos[REPO][NAME].content
    assert isinstance(content, bytes)
    return content


def test_row_1_a_cut_at_40_percent_and_a_kill_at_70(hub: FakeHub, tmp_path: Path) -> None:
    home = tmp_path / "hf"
    hub.faults.cuts = [SIZE, SIZE * 2 // 5]  # the first is the answer to the verdict's question
    process = start(hub, home, "pull", REPO, "--json")
    while process.poll() is None and partial_bytes(home) < SIZE * 7 // 10:
        time.sleep(0.002)
    process.kill()
    process.communicate()
    reached = partial_bytes(home)
    assert reached >= SIZE * 7 // 10
    done = run(hub, home, "pull", REPO, "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["files"][0]["sha256"] == hashlib.sha256(_content(hub)).hexdigest()
    assert Path(document["path"]).read_bytes() == _content(hub)
    assert document["resumed_bytes"] == reached, "from the byte reached, no full restart"
    fetched = [r for r in hub.sent(NAME) if r.start or r.sent > 2_000_000]
    assert len(fetched) == 3
    for before, after in pairwise(fetched):
        assert before.start is not None
        assert after.start is not None
        assert 0 <= before.start + before.sent - after.start <= CHUNK_BYTES + _BUFFERED_BYTES


MOUNT = ("mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs")


@cache
def may_mount() -> bool:
    """Tried, once: neither the user nor the capabilities tell it of a container."""
    if not shutil.which("mount"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        if subprocess.run([*MOUNT, folder], capture_output=True).returncode:
            return False
        subprocess.run(["umount", "-l", folder], check=True)
    return True


needs_mount = pytest.mark.skipif(
    "not may_mount()", reason="mounting a small volume is not permitted here"
)


@pytest.fixture
def small_volume(tmp_path: Path) -> Iterator[Path]:
    """16 MiB in memory."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run([*MOUNT, str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@needs_mount
def test_row_3_a_volume_that_is_too_small_is_refused_beforehand(
    hub: FakeHub, small_volume: Path
) -> None:
    done = run(hub, small_volume / "hf", "pull", REPO)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("deepinfer: The download needs 5.7 MiB (5.7 MiB for the files")
    assert last.endswith("has 16.0 MiB free.")
    assert sum(request.sent for request in hub.sent(NAME)) <= 2_000_000, "for the verdict"


_WITHOUT_SPARE = "import app.core.room; app.core.room.SPARE_BYTES = 0\n"


def _run_filling(hub: FakeHub, home: Path, filler: Path) -> subprocess.CompletedProcess[str]:
    """Something else fills the volume when a part has arrived."""
    process = start(hub, home, "pull", REPO, "--to", str(home / "model"), before=_WITHOUT_SPARE)
    while process.poll() is None and partial_bytes(home) < SIZE // 4:
        time.sleep(0.002)
    usage = shutil.disk_usage(home)
    filler.write_bytes(bytes(max(0, usage.free - SIZE // 4)))
    stdout, stderr = process.communicate()
    return subprocess.CompletedProcess([], process.returncode, stdout, stderr)


@needs_mount
def test_row_3_a_volume_that_fills_meanwhile_keeps_what_arrived(
    hub: FakeHub, small_volume: Path
) -> None:
    home, filler = small_volume / "hf", small_volume / "filler"
    full = _run_filling(hub, home, filler)
    assert full.returncode == 1
    assert "The disk is full after" in full.stderr.splitlines()[-1]
    assert "what has arrived is kept" in full.stderr.splitlines()[-1]
    assert "Traceback" not in full.stderr
    kept = partial_bytes(home)
    assert kept > SIZE // 4
    filler.unlink()
    again = ("pull", REPO, "--to", str(home / "model"), "--json")
    done = run(hub, home, *again, before=_WITHOUT_SPARE)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["resumed_bytes"] == kept
    assert Path(document["path"]).read_bytes() == _content(hub)


_SMALL_FILES = (
    "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, 2_000_000))\n"
)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits of this kind")
def test_row_3_a_limit_of_the_file_system_keeps_what_arrived(hub: FakeHub, tmp_path: Path) -> None:
    home = tmp_path / "hf"
    full = run(hub, home, "pull", REPO, before=_SMALL_FILES)
    assert full.returncode == 1
    last = full.stderr.splitlines()[-1]
    assert "takes no file that is larger than 1.9 MiB" in last
    assert partial_bytes(home) == 2_000_000
    done = run(hub, home, "pull", REPO, "--json")
    assert json.loads(done.stdout)["resumed_bytes"] == 2_000_000


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "is gated: accept its terms at"), (403, "the account of this token has no access")],
)
def test_row_4_a_gate_is_named_with_its_link_and_no_log_has_the_token(
    hub: FakeHub, tmp_path: Path, status: int, words: str
) -> None:
    hub.faults.status[NAME] = (status, {"X-Error-Code": "GatedRepo"}, "Access is restricted")
    done = run(hub, tmp_path / "hf", "pull", REPO)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert words in line
    assert f"{hub.endpoint}/{REPO}" in line
    hosts = {f"http://{request.host}" for request in hub.requests}
    assert hosts == {hub.endpoint}, "all requests go to HF_ENDPOINT"
    assert {request.authorization for request in hub.requests} == {f"Bearer {TOKEN}"}
    logs = [path.read_text(encoding="utf-8") for path in home_dir().rglob("*.log")]
    assert logs
    assert not any(TOKEN in text for text in (*logs, done.stdout, done.stderr))


def _folder(**config: object) -> dict[str, bytes]:
    return {"config.json": small_config(**config), "model.safetensors": os.urandom(100_000)}


@pytest.fixture
def here(hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    """The hub of this process."""
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    return hub


@pytest.mark.parametrize("command", ["pull", "validate"])
def test_row_5_an_unknown_architecture_is_told_before_a_weight_byte(
    here: FakeHub, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here.add("org/New", _folder(architectures=["MambaForCausalLM"], model_type="mamba"))
    main([command, "org/New"])
    shown = capsys.readouterr()
    assert "MambaForCausalLM" in shown.out + shown.err
    assert "is not supported" in shown.out + shown.err
    assert any("config.json" in request.path for request in here.requests)
    assert here.sent("model.safetensors") == []


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("affine", "It runs after conversion"),
        ("nvfp9", "Nothing was fetched: mlx/Model: the MLX mode nvfp9 is not supported."),
    ],
)
def test_row_5_what_mlx_made_is_judged_before_a_weight_byte(
    here: FakeHub, mode: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    quantization = {"group_size": 64, "bits": 4, "mode": mode}
    here.add("mlx/Model", _folder(quantization=quantization))
    is_read = mode == "affine"
    assert main(["pull", "mlx/Model"]) == (0 if is_read else 1)
    assert words in capsys.readouterr().err.splitlines()[0]
    assert bool(here.sent("model.safetensors")) is is_read

"""`deepinfer` in a process of its own, with a fake hub as its hub: settings are read once."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from app.download.partial import SUFFIX
from tests.hub.fake_hub import FakeHub

_PROGRAM = "import sys; from app.cli.main import main; sys.exit(main(sys.argv[1:]))"
TOKEN = "hf_aSecretThatNobodyElseSees"


def start(hub: FakeHub, home: Path, *arguments: str, before: str = "") -> subprocess.Popen[str]:
    """`home` holds the cache; silence lasts a second until it is an error. `before` is run first,
    in the same process."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("HF_", "http"))
    }
    environment |= {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(home),
        "HF_TOKEN": TOKEN,
        "HF_HUB_DOWNLOAD_TIMEOUT": "1",
        "NO_PROXY": "127.0.0.1,localhost",
    }
    return subprocess.Popen(
        [sys.executable, "-c", before + _PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment,
        cwd=Path(__file__).resolve().parents[2],
    )


def run(
    hub: FakeHub, home: Path, *arguments: str, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """To its end."""
    process = start(hub, home, *arguments, before=before)
    stdout, stderr = process.communicate(timeout=120)
    return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)


def partial_bytes(home: Path) -> int:
    """Of all files that are not complete; folders may vanish meanwhile."""
    total = 0
    for folder, _, names in os.walk(home):
        for name in names:
            if name.endswith(SUFFIX):
                with suppress(FileNotFoundError):
                    total += (Path(folder) / name).stat().st_size
    return total

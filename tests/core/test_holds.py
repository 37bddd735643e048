"""What is in use is known to other processes, and no longer once its process is gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from app.core.holds import Hold, find_purpose, held, read_holds

_HOLDER = """
import sys, time
from pathlib import Path
from app.core.holds import Hold
hold = Hold(Path(sys.argv[1]), "loaded")
print("held", flush=True)
time.sleep(600)
"""


def test_a_hold_is_seen_from_around_and_from_inside(tmp_path: Path) -> None:
    model = tmp_path / "库" / "model"
    model.mkdir(parents=True)
    with held(model, "being converted"):
        for path in (model, tmp_path, model / "layer_00.safetensors"):
            assert find_purpose(path) == "being converted", path
        assert find_purpose(tmp_path / "库" / "model-2") == ""
    assert read_holds() == {}


def test_several_holds_on_one_folder(tmp_path: Path) -> None:
    first, second = Hold(tmp_path, "loaded"), Hold(tmp_path, "loaded")
    first.release()
    assert find_purpose(tmp_path) == "loaded"
    second.release()
    second.release()
    assert find_purpose(tmp_path) == ""


def test_a_killed_process_lets_go(tmp_path: Path, deepinfer_home: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    )
    assert holder.stdout
    with holder:
        assert holder.stdout.readline() == b"held\n"
        assert read_holds() == {tmp_path.resolve(): "loaded"}
        holder.kill()
        holder.wait()
    assert read_holds() == {}
    assert list((deepinfer_home / "holds").iterdir()) == []


def test_a_home_that_cannot_be_written_stops_nobody(tmp_path: Path, deepinfer_home: Path) -> None:
    (deepinfer_home / "holds").write_text("a file is in the way")
    with held(tmp_path, "loaded"):
        assert read_holds() == {}

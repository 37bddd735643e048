"""The pipeline: what it leaves on disk when it succeeds, fails, is cancelled, killed or resumed."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.checkpoint.reader import Checkpoint
from app.converter import pipeline
from app.converter.pipeline import convert
from app.core.conversion_events import ConversionPlanned, ConversionProgressed
from app.core.errors import (
    InvalidSourceError,
    JobCancelledError,
    ResourceError,
    RoomError,
    StorageError,
    UnsupportedError,
    UsageError,
)
from app.core.events import Event
from app.core.jobs import CancelToken
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A tiny GGUF of 2 layers in a folder whose name has a space and Chinese characters."""
    folder = tmp_path / "模型 文件"
    folder.mkdir()
    return write_tiny(folder / "小 model.gguf", layers=2)


def write_tiny(path: Path, layers: int) -> Path:
    model = TinyModel("llama", layers=layers)
    tensors = to_gguf_tensors(model, model.weights())
    types = {name: Q.Q4_0 for name in tensors if "ffn" in name and "norm" not in name}
    return write_gguf(path, model, tensors, types)


def hashes(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_events_tell_the_plan_and_then_every_byte(source: Path, tmp_path: Path) -> None:
    events: list[Event] = []
    report = convert(source, tmp_path / "out", listener=events.append)
    planned, *progressed = events
    assert isinstance(planned, ConversionPlanned)
    plan = planned.plan
    assert (plan.format, plan.architecture, plan.grid) == ("gguf", "LlamaForCausalLM", "exact")
    assert plan.name == "小 model"
    assert all(isinstance(event, ConversionProgressed) for event in progressed)
    last = progressed[-1]
    assert isinstance(last, ConversionProgressed)
    assert (last.num_steps_done, last.num_steps) == (5, 5)  # embed, 2 layers, norm, lm_head
    assert last.done_bytes == last.total_bytes
    done = [event.done_bytes for event in progressed if isinstance(event, ConversionProgressed)]
    assert done == sorted(done)
    assert len(done) == 16 + 5  # each linear, then each part
    stored = sum(path.stat().st_size for path in (tmp_path / "out").iterdir())
    assert abs(stored - plan.output_bytes) < 20_000  # descriptions vary in length
    assert {(g.source_type, g.path) for g in plan.groups} == {("Q4_0", "exact"), ("F32", "dense")}
    assert sum(group.num_tensors for group in plan.groups) == len(report.tensors) == 16


def test_report_and_checkpoint_agree(source: Path, tmp_path: Path) -> None:
    report = convert(source, tmp_path / "out")
    assert (report.num_exact, report.num_dense) == (6, 10)
    assert report.lossless
    assert report.seconds > 0
    assert report.peak_rss_bytes > 1 << 20
    checkpoint = Checkpoint.open(tmp_path / "out", verify=True)
    assert list(checkpoint.manifest.linears) != []
    assert {t.name for t in report.tensors} == set(checkpoint.manifest.linears)
    for row in report.tensors:
        assert row.output_bytes == checkpoint.linear(row.name).num_bytes
    checkpoint.close()
    files = (p for p in (tmp_path / "out").iterdir() if p.name != "manifest.json")
    assert report.output_bytes == sum(path.stat().st_size for path in files)
    text = (tmp_path / "out" / "conversion_report.md").read_text(encoding="utf-8")
    assert "Lossless" in text
    assert "| layers.1.mlp.down_proj | Q4_0 | exact | int4 sym g32 | 0 |" in text


@pytest.mark.parametrize("grid", ["auto", "w4", "dense"])
def test_output_is_deterministic_to_the_byte(
    grid: str, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    convert(source, tmp_path / "first", grid=grid, group_size=32)
    monkeypatch.setattr(pipeline, "num_usable_cores", lambda: 1)
    convert(source, tmp_path / "second", grid=grid, group_size=32)
    assert hashes(tmp_path / "first") == hashes(tmp_path / "second")


def test_nothing_but_the_output_is_left(source: Path, tmp_path: Path) -> None:
    before = names_in(tmp_path)
    convert(source, tmp_path / "out")
    assert names_in(tmp_path) == sorted([*before, "out"])


def test_outputs_that_are_refused(source: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("years of work", encoding="utf-8")
    for output, reason in [
        (source, "is the source itself"),
        (source.parent, "a folder that contains it"),
        (tmp_path, "a folder that contains it"),
        (foreign, "not empty and not a native checkpoint"),
        (foreign / "thesis.txt", "is not a folder"),
    ]:
        for overwrite in (False, True):
            with pytest.raises(UsageError, match=reason):
                convert(source, output, overwrite=overwrite)
    assert (foreign / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_overwrite_replaces_native_checkpoints_only(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    convert(source, output)
    before = hashes(output)
    with pytest.raises(UsageError, match="--overwrite"):
        convert(source, output, grid="dense")
    assert hashes(output) == before
    convert(source, output, grid="dense", overwrite=True)
    assert hashes(output) != before
    assert Checkpoint.open(output).manifest.linears["layers.0.mlp.up_proj"].dtype == "float32"
    assert names_in(tmp_path) == ["out", source.parent.name]


def test_a_native_checkpoint_is_no_source(source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "out")
    with pytest.raises(UsageError, match="native checkpoint already"):
        convert(tmp_path / "out", tmp_path / "again")


def test_a_failed_overwrite_keeps_the_old_checkpoint(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    convert(source, output)
    before = hashes(output)
    cut = source.read_bytes()[:-64]
    source.write_bytes(cut)
    with pytest.raises(InvalidSourceError, match="truncated"):
        convert(source, output, overwrite=True)
    assert hashes(output) == before
    assert names_in(tmp_path) == ["out", source.parent.name]


def test_a_foreign_folder_named_partial_is_not_touched(source: Path, tmp_path: Path) -> None:
    partial = tmp_path / "out.partial"
    partial.mkdir()
    (partial / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"out\.partial is in the way"):
        convert(source, tmp_path / "out")
    assert (partial / "mine.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(("grid", "group"), [("w5", 128), ("w4", 17)])
def test_options_that_mean_nothing(grid: str, group: int, source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        convert(source, tmp_path / "out", grid=grid, group_size=group)
    assert names_in(tmp_path) == [source.parent.name]


def test_a_full_disk_is_told_beforehand(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(ResourceError, match=r"needed, 0\.00 GiB free"):
        convert(source, tmp_path / "out")
    assert names_in(tmp_path) == [source.parent.name]


@pytest.mark.parametrize(
    ("code", "kind", "reason"),
    [
        (errno.ENOSPC, RoomError, "No space left on device"),
        (errno.EROFS, StorageError, "Read-only file system"),
    ],
)
def test_a_disk_that_refuses_midway_is_one_sentence(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    kind: type[ResourceError],
    reason: str,
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(code, reason)

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(kind, match=f"out could not be written: {reason}"):
        convert(source, tmp_path / "out")
    assert names_in(tmp_path) == [source.parent.name]


def test_damage_found_midway_leaves_nothing(source: Path, tmp_path: Path) -> None:
    data = bytearray(source.read_bytes())
    data[-4:] = b"\xff\xff\xff\xff"  # a NaN in the last tensor
    source.write_bytes(data)
    with pytest.raises(InvalidSourceError, match="not finite"):
        convert(source, tmp_path / "out")
    assert names_in(tmp_path) == [source.parent.name]


def test_unsupported_configurations_are_refused_before_any_weight(tmp_path: Path) -> None:
    model = TinyModel("qwen3", head_dim=15, heads=4, kv_heads=2)
    path = write_gguf(tmp_path / "odd.gguf", model, to_gguf_tensors(model, model.weights()))
    with pytest.raises(UnsupportedError, match="head_dim"):
        convert(path, tmp_path / "out")
    assert names_in(tmp_path) == ["odd.gguf"]


def cancel_at(token: CancelToken, count: int) -> Callable[[Event], None]:
    """A listener that cancels at the `count`th progress event."""
    seen: list[Event] = []

    def listen(event: Event) -> None:
        seen.append(event)
        if len(seen) == count:
            token.cancel()

    return listen


@pytest.mark.parametrize("count", [1, 2, 7])
def test_cancelled_leaves_nothing(count: int, source: Path, tmp_path: Path) -> None:
    token = CancelToken()
    with pytest.raises(JobCancelledError):
        convert(source, tmp_path / "out", listener=cancel_at(token, count), cancel=token)
    assert names_in(tmp_path) == [source.parent.name]


def test_cancelled_with_resume_goes_on_later(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "num_usable_cores", lambda: 1)
    token = CancelToken()
    with pytest.raises(JobCancelledError):
        convert(source, tmp_path / "out", resume=True, listener=cancel_at(token, 9), cancel=token)
    finished = names_in(tmp_path / "out.partial" / "parts")
    assert finished
    adopted = resume_and_count_adopted(source, tmp_path / "out", monkeypatch)
    assert adopted == [name.removesuffix(".json") for name in finished]
    assert_like_a_fresh_conversion(source, tmp_path)


def resume_and_count_adopted(
    source: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    adopted: list[str] = []
    adopt_part = pipeline.CheckpointWriter.adopt_part

    def spy(writer: pipeline.CheckpointWriter, stem: str, part: pipeline.PartRecord) -> bool:
        is_adopted = adopt_part(writer, stem, part)
        adopted.extend([stem] * is_adopted)
        return is_adopted

    monkeypatch.setattr(pipeline.CheckpointWriter, "adopt_part", spy)
    convert(source, output, resume=True)
    return sorted(adopted)


def assert_like_a_fresh_conversion(source: Path, folder: Path) -> None:
    assert not (folder / "out.partial").exists()
    convert(source, folder / "fresh")
    assert hashes(folder / "out") == hashes(folder / "fresh")


_KILLED = """
import sys, time
from pathlib import Path
from app.converter import pipeline
pipeline.num_usable_cores = lambda: 1
def listen(event):
    if getattr(event, "num_steps_done", 0) >= 3:
        print("now", flush=True)
        time.sleep(60)
pipeline.convert(Path(sys.argv[1]), Path(sys.argv[2]), listener=listen)
"""


def kill_midway(source: Path, output: Path) -> None:
    command = [sys.executable, "-c", _KILLED, str(source), str(output)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "now\n"
    child.kill()
    child.wait()
    child.stdout.close()


def test_resume_after_kill_9(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "out"
    kill_midway(source, output)
    assert not output.exists()
    finished = names_in(tmp_path / "out.partial" / "parts")
    assert len(finished) == 3
    (tmp_path / "out.partial" / "checkpoint" / "layer_01.safetensors.partial").write_bytes(b"half")
    damaged = tmp_path / "out.partial" / "checkpoint" / finished[0].replace("json", "safetensors")
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    adopted = resume_and_count_adopted(source, output, monkeypatch)
    assert adopted == [name.removesuffix(".json") for name in finished[1:]]
    assert_like_a_fresh_conversion(source, tmp_path)


def test_without_resume_a_killed_run_is_forgotten(source: Path, tmp_path: Path) -> None:
    kill_midway(source, tmp_path / "out")
    convert(source, tmp_path / "out")
    assert_like_a_fresh_conversion(source, tmp_path)


def test_resume_refuses_other_options_and_other_sources(source: Path, tmp_path: Path) -> None:
    kill_midway(source, tmp_path / "out")
    with pytest.raises(UsageError, match="another source or other options"):
        convert(source, tmp_path / "out", grid="dense", resume=True)
    time.sleep(0.01)
    source.touch()
    with pytest.raises(UsageError, match="another source or other options"):
        convert(source, tmp_path / "out", resume=True)
    assert (tmp_path / "out.partial").exists()


def test_resume_with_nothing_to_resume_simply_converts(source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "out", resume=True)
    assert_like_a_fresh_conversion(source, tmp_path)

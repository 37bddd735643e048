"""What a listener hears, and how soon a cancel is heard inside one large tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from app.converter import pipeline
from app.converter.pipeline import convert
from app.converter.progress import Progress
from app.converter.sources import file_rows
from app.converter.sources.base import SourceLinear, SourcePart
from app.converter.sources.file_rows import FileRows
from app.core.conversion_events import ConversionProgressed
from app.core.errors import JobCancelledError
from app.core.events import Event
from app.core.jobs import CancelToken, cancellable_by, check_cancelled
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf


def large_vocabulary(path: Path, kind: Q) -> Path:
    """A model that is nearly all embedding: 16 blocks of rows of it."""
    model = TinyModel("llama", hidden=256, heads=4, head_dim=64, inner=256, layers=1, vocab=16384)
    tensors = to_gguf_tensors(model, model.weights())
    return write_gguf(path, model, tensors, {"token_embd.weight": kind})


def test_tokens_are_looked_at_where_they_were_given() -> None:
    token = CancelToken()
    with cancellable_by(CancelToken(), token):
        check_cancelled()
        token.cancel()
        with pytest.raises(JobCancelledError):
            check_cancelled()
    check_cancelled()


@pytest.mark.parametrize(
    ("kind", "grid"),
    [(Q.Q8_0, "exact"), (Q.Q8_0, "dense"), (Q.F16, "w8"), (Q.F16, "dense"), (Q.Q4_0, "w3")],
)
def test_a_cancel_inside_a_large_tensor_is_heard_within_a_block(
    kind: Q, grid: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However large the tensor: after the cancel no further block of rows is read."""
    monkeypatch.setattr(pipeline, "num_usable_cores", lambda: 1)
    source = large_vocabulary(tmp_path / "model.gguf", kind)
    token, blocks_read = CancelToken(), []
    read = FileRows._read

    def count(rows: FileRows, start: int, stop: int) -> file_rows.Bytes:
        if rows.num_rows == 16384:
            blocks_read.append(start)
            if len(blocks_read) == 3:
                token.cancel()
        return read(rows, start, stop)

    monkeypatch.setattr(FileRows, "_read", count)
    with pytest.raises(JobCancelledError):
        convert(source, tmp_path / "out", grid=grid, cancel=token)
    assert len(blocks_read) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


def test_a_cancel_is_heard_while_a_part_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashing and writing go piece by piece; a piece is a moment of work."""
    from app.checkpoint import tensor_file

    monkeypatch.setattr(pipeline, "num_usable_cores", lambda: 1)
    monkeypatch.setattr(tensor_file, "_BLOCK_BYTES", 4096)
    source = large_vocabulary(tmp_path / "model.gguf", Q.Q8_0)
    token, pieces = CancelToken(), []
    iter_array = tensor_file._iter_array

    def count(array: tensor_file.Storable) -> Iterator[object]:
        for piece in iter_array(array):
            pieces.append(piece.nbytes)
            if len(pieces) == 5:
                token.cancel()
            yield piece

    monkeypatch.setattr(tensor_file, "_iter_array", count)
    with pytest.raises(JobCancelledError):
        convert(source, tmp_path / "out", cancel=token)
    assert pieces == [4096] * 5
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]


@pytest.mark.parametrize("grid", ["exact", "w8", "dense"])
def test_a_large_tensor_is_told_in_steps(
    grid: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.converter.progress._TOLD_BYTES", 1 << 20)
    source = large_vocabulary(tmp_path / "model.gguf", Q.Q8_0)
    events: list[Event] = []
    convert(source, tmp_path / "out", grid=grid, listener=events.append)
    progressed = [event for event in events if isinstance(event, ConversionProgressed)]
    within = [event for event in progressed if event.tensor == "embed_tokens"]
    # 4.25 MiB, told at each of them, the rest at the end; what is exact is not decoded whole.
    assert len(within) == (1 if grid == "exact" else 4)
    done = [event.done_bytes for event in progressed]
    assert done == sorted(done)
    assert done[-1] == progressed[-1].total_bytes
    assert {event.step for event in within} == {"embed"}


def linear(name: str, num_bytes: int) -> SourceLinear:
    weight = np.zeros((4, 32), np.float32)
    return SourceLinear(
        name, weight.shape, name, "F32", num_bytes, False, None, _never, lambda: weight
    )


def _never() -> None:
    raise AssertionError("dense")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    now = [100.0]
    monkeypatch.setattr("app.converter.progress.time.monotonic", lambda: now[0])
    return lambda seconds: now.__setitem__(0, now[0] + seconds)


def test_the_time_left_follows_from_what_this_run_did(clock: Callable[[float], None]) -> None:
    """Parts taken over from an earlier run say nothing of the speed."""
    parts = tuple(SourcePart(f"layer_0{i}", (linear(f"l{i}", 1000),), ()) for i in range(4))
    events: list[ConversionProgressed] = []
    progress = Progress(parts, lambda event: events.append(event))  # type: ignore[arg-type]
    progress.adopt_part(parts[0])
    assert events[-1].eta_s is None
    clock(10)
    progress.track(parts[1], parts[1].linears[0]).finish()
    assert events[-1].eta_s == pytest.approx(20)  # 1000 bytes in 10 s, 2000 left
    assert (events[-1].step, events[-1].tensor) == ("layer 1", "l1")
    progress.finish_part(parts[1])
    for part in parts[2:]:
        clock(5)
        progress.track(part, part.linears[0]).finish()
        progress.finish_part(part)
    assert events[-1].eta_s == 0
    assert events[-1].num_steps_done == 4

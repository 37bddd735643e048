"""Mutated GGUF files: one sentence or success, nothing else, and nothing left behind."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.converter.pipeline import convert
from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf

_EXTREMES = (0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """One layer, several types, a tokenizer."""
    model = TinyModel("llama", layers=1, tied=True, hidden=32, heads=2, kv_heads=1, inner=32)
    tensors = to_gguf_tensors(model, model.weights())
    types = {"blk.0.ffn_up.weight": Q.Q4_1, "blk.0.attn_q.weight": Q.Q8_0}
    path = write_gguf(tmp_path_factory.mktemp("small") / "small.gguf", model, tensors, types)
    return path.read_bytes()


def check_conversion(data: bytes, folder: Path) -> AppError | None:
    """The error, if any, which must be one sentence; checks that nothing else is left."""
    folder.mkdir()
    path = folder / "small.gguf"
    path.write_bytes(data)
    error = None
    try:
        convert(path, folder / "out")
    except AppError as refusal:
        error = refusal
    left = sorted(entry.name for entry in folder.iterdir())
    shutil.rmtree(folder)
    assert left == (["out", "small.gguf"] if error is None else ["small.gguf"])
    assert error is None or (error.message and "\n" not in error.message)
    return error


def overwrite(data: bytes, at: int, piece: bytes) -> bytes:
    return data[:at] + piece + data[at + len(piece) :]


def mutations(data: bytes) -> st.SearchStrategy[bytes]:
    """Flipped bits, extreme integers, missing and repeated stretches; mostly in the header."""
    header = st.integers(4, data.index(b"blk.0.ffn_norm") + 200)
    anywhere = st.integers(0, len(data) - 1)
    places = st.one_of(header, header, anywhere)
    flip = st.builds(
        lambda at, bit: overwrite(data, at, bytes([data[at] ^ (1 << bit)])),
        places,
        st.integers(0, 7),
    )
    number = st.builds(
        lambda at, value, size: overwrite(data, at, struct.pack("<Q", value)[:size]),
        places,
        st.sampled_from(_EXTREMES),
        st.sampled_from((4, 8)),
    )
    cut = st.builds(lambda at, size: data[:at] + data[at + size :], places, st.integers(1, 64))
    repeat = st.builds(lambda at, size: data[: at + size] + data[at:], places, st.integers(1, 64))
    truncate = st.builds(lambda at: data[:at], anywhere)
    return st.one_of(flip, number, cut, repeat, truncate)


@pytest.mark.parametrize("num_files", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_mutated_files_never_surprise(num_files: int, small: bytes, tmp_path: Path) -> None:
    @settings(max_examples=num_files, deadline=None, suppress_health_check=list(HealthCheck))
    @given(mutations(small))
    def convert_mutated(data: bytes) -> None:
        error = check_conversion(data, tmp_path / "mutated")
        assert error is None or type(error) is not AppError, "a class that says whose fault it is"

    convert_mutated()
    assert list(tmp_path.iterdir()) == []


def test_the_unmutated_file_converts(small: bytes, tmp_path: Path) -> None:
    assert check_conversion(small, tmp_path / "case") is None


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_truncated_at_every_region(share: float, small: bytes, tmp_path: Path) -> None:
    error = check_conversion(small[: int(len(small) * share)], tmp_path / "case")
    assert isinstance(error, InvalidSourceError)
    assert error.message.startswith("small.gguf: ")


def test_files_that_are_something_else(small: bytes, tmp_path: Path) -> None:
    lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    for data, kind, reason in [
        (lfs, InvalidSourceError, "Git LFS pointer"),
        (b"", InvalidSourceError, "empty"),
        (overwrite(small, 4, struct.pack(">I", 3)), UnsupportedError, "big-endian"),
        (overwrite(small, 4, struct.pack("<I", 1)), UnsupportedError, "version 1"),
    ]:
        error = check_conversion(data, tmp_path / "case")
        assert type(error) is kind
        assert reason in error.message

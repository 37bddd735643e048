"""The GGUF header parser: agrees with gguf's reader, and names each kind of damage."""

from __future__ import annotations

import io
import struct
import sys
import tracemalloc
from pathlib import Path

import gguf
import numpy as np
import pytest

from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from app.spec.gguf_header import GgufHeader, read_gguf_header, read_gguf_header_of
from app.spec.gguf_types import GGML_TYPES
from tests.gguf_factory import (
    TinyModel,
    raw_gguf,
    raw_string,
    raw_tensor,
    raw_value,
    to_gguf_tensors,
    write_gguf,
)

_STRING, _ARRAY, _UINT32, _BOOL = 8, 9, 4, 7


def parse(data: bytes) -> GgufHeader:
    return read_gguf_header(io.BytesIO(data), file="model.gguf", total_bytes=len(data))


def test_types_agree_with_gguf() -> None:
    for kind, (block_size, block_bytes) in gguf.GGML_QUANT_SIZES.items():
        ours = GGML_TYPES[int(kind)]
        assert (ours.name, ours.block_size, ours.block_bytes) == (
            kind.name,
            block_size,
            block_bytes,
        )


def test_agrees_with_ggufs_reader(tmp_path: Path) -> None:
    model = TinyModel()
    path = write_gguf(tmp_path / "m.gguf", model, to_gguf_tensors(model, model.weights()))
    header, reader = read_gguf_header_of(path), gguf.GGUFReader(path)
    for ours, theirs in zip(header.tensors, reader.tensors, strict=True):
        assert ours.name == theirs.name
        assert ours.shape == tuple(reversed(theirs.shape.tolist()))
        assert (ours.offset, ours.num_bytes) == (theirs.data_offset, theirs.n_bytes)
    for key, value in header.metadata.items():
        theirs = reader.fields[key].contents()
        assert (value.tolist() if isinstance(value, np.ndarray) else value) == theirs, key


def test_starter_header_is_read_quickly(starter_gguf: Path) -> None:
    """Counted in calls, which do not depend on the machine: `gguf` itself makes 6.5 million."""
    num_calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal num_calls
        num_calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        header = read_gguf_header_of(starter_gguf)
    finally:
        sys.setprofile(before)
    assert num_calls < 500_000
    assert len(header.tensors) == 272
    assert len(header.metadata["tokenizer.ggml.tokens"]) == 49152


def test_every_value_type_is_read() -> None:
    numbers = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 10: "Q", 11: "q", 12: "d"}
    values = [raw_value(f"n.{t}", t, struct.pack("<" + code, 7)) for t, code in numbers.items()]
    arrays = [
        raw_value(f"a.{t}", _ARRAY, struct.pack(f"<IQ3{code}", t, 3, 1, 2, 3))
        for t, code in numbers.items()
    ]
    strings = struct.pack("<IQ", _STRING, 2) + raw_string("é") + raw_string("")
    booleans = struct.pack("<IQ??", _BOOL, 2, True, False)
    others = [
        raw_value("s", _STRING, raw_string("文")),
        raw_value("b", _BOOL, b"\1"),
        raw_value("as", _ARRAY, strings),
        raw_value("ab", _ARRAY, booleans),
    ]
    metadata = parse(raw_gguf((*values, *arrays, *others))).metadata
    assert all(metadata[f"n.{t}"] == 7 for t in numbers)
    assert all(metadata[f"a.{t}"].tolist() == [1, 2, 3] for t in numbers)
    assert metadata["s"] == "文"
    assert metadata["b"] is True
    assert metadata["as"] == ["é", ""]
    assert metadata["ab"].tolist() == [True, False]


def test_strings_longer_than_the_read_buffer() -> None:
    long = "x" * (3 << 20)
    strings = b"".join(raw_string(text) for text in ("a", long, "b"))
    header = parse(raw_gguf((raw_value("s", _ARRAY, struct.pack("<IQ", _STRING, 3) + strings),)))
    assert header.metadata["s"] == ["a", long, "b"]


_ALIGN_48 = raw_value("general.alignment", _UINT32, struct.pack("<I", 48))
_F32 = raw_tensor("a", (8,), 0, 0)
_DAMAGED = {
    "empty": (b"", "empty"),
    "LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS"),
    "not a GGUF": (b"PK\3\4" + b"\0" * 60, "not a GGUF file"),
    "truncated magic": (b"GG", "not a GGUF file"),
    "truncated counts": (raw_gguf()[:17], "truncated"),
    "count of keys": (raw_gguf(num_values=1 << 40), "number of metadata keys"),
    "count of tensors": (raw_gguf(num_tensors=1 << 60), "number of tensors"),
    "missing keys": (raw_gguf(num_values=3), "truncated"),
    "key length": (raw_gguf((raw_string("k", 1 << 60),)), "metadata key 0"),
    "string length": (raw_gguf((raw_value("k", _STRING, raw_string("v", 1 << 60)),)), "'k'"),
    "string past the end": (raw_gguf((raw_value("k", _STRING, raw_string("v", 999)),)), "'k'"),
    "array length": (
        raw_gguf((raw_value("k", _ARRAY, struct.pack("<IQ", _UINT32, 1 << 50)),)),
        "the array 'k'",
    ),
    "array past the end": (
        raw_gguf((raw_value("k", _ARRAY, struct.pack("<IQ", _UINT32, 1 << 20)),)),
        "the array 'k'",
    ),
    "strings past the end": (
        raw_gguf((raw_value("k", _ARRAY, struct.pack("<IQ", _STRING, 1 << 20)),)),
        "the array 'k'",
    ),
    "nested array": (
        raw_gguf((raw_value("k", _ARRAY, struct.pack("<IQ", _ARRAY, 1)),)),
        "nested item type",
    ),
    "value type": (raw_gguf((raw_value("k", 77, b""),)), "unknown value type 77"),
    "not UTF-8": (raw_gguf((raw_value("k", _STRING, raw_string(b"\xff\xfe")),)), "UTF-8"),
    "array not UTF-8": (
        raw_gguf((raw_value("k", _ARRAY, struct.pack("<IQ", _STRING, 1) + raw_string(b"\xff")),)),
        "UTF-8",
    ),
    "boolean": (raw_gguf((raw_value("k", _BOOL, b"\2"),)), "boolean 'k'"),
    "key twice": (raw_gguf((raw_value("k", _BOOL, b"\1"),) * 2), "'k' appears twice"),
    "alignment 48": (raw_gguf((_ALIGN_48,)), "not a power of two"),
    "tensor twice": (
        raw_gguf((), (_F32, raw_tensor("a", (8,), 0, 32)), data=b"\0" * 64),
        "'a' appears twice",
    ),
    "overlap": (
        raw_gguf((), (raw_tensor("a", (16,), 0, 0), raw_tensor("b", (8,), 0, 32)), data=b"\0" * 64),
        "overlap",
    ),
    "past the end": (raw_gguf((), (_F32,), data=b"\0" * 16), "truncated or damaged: tensor 'a'"),
    "offset past the end": (
        raw_gguf((), (raw_tensor("a", (8,), 0, 1 << 50),), data=b"\0" * 32),
        "tensor 'a'",
    ),
    "misaligned": (raw_gguf((), (raw_tensor("a", (8,), 0, 8),), data=b"\0" * 64), "not aligned"),
    "no dimensions": (raw_gguf((), (raw_tensor("a", (), 0, 0),)), "0 dimensions"),
    "five dimensions": (raw_gguf((), (raw_tensor("a", (1,) * 5, 0, 0),)), "5 dimensions"),
    "zero size": (raw_gguf((), (raw_tensor("a", (0, 8), 0, 0),)), "cannot be F32"),
    "not whole blocks": (raw_gguf((), (raw_tensor("a", (2, 33), 2, 0),)), "cannot be Q4_0"),
    "tensor name": (raw_gguf((), (raw_string("a" * 300),)), "tensor name"),
}


@pytest.mark.parametrize("kind", _DAMAGED)
def test_damage_is_named_in_one_sentence(kind: str) -> None:
    data, fault = _DAMAGED[kind]
    tracemalloc.start()
    try:
        with pytest.raises(InvalidSourceError) as raised:
            parse(data)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    message = raised.value.message
    assert message.startswith("model.gguf: ")
    assert fault in message
    assert "\n" not in message
    assert message.endswith(".")


_UNSUPPORTED = {
    "version 1": (raw_gguf(version=1), "GGUF version 1 is not supported"),
    "version 4": (raw_gguf(version=4), "GGUF version 4 is not supported"),
    "big-endian": (raw_gguf(version=3 << 24), "big-endian"),
    "GGML": (b"lmgg" + b"\0" * 60, "the old GGML format"),
    "GGJT": (b"tjgg" + b"\0" * 60, "the old GGJT format"),
    "type 36": (raw_gguf((), (raw_tensor("a", (256,), 36, 0),)), "removed ggml type id 36"),
    "type 137": (raw_gguf((), (raw_tensor("a", (256,), 137, 0),)), "unknown ggml type id 137"),
}


@pytest.mark.parametrize("kind", _UNSUPPORTED)
def test_what_is_refused_by_name(kind: str) -> None:
    data, reason = _UNSUPPORTED[kind]
    with pytest.raises(UnsupportedError) as raised:
        parse(data)
    assert reason in raised.value.message
    assert raised.value.message.startswith("model.gguf: ")


def test_truncation_anywhere_is_refused(tmp_path: Path) -> None:
    model = TinyModel(layers=1, tied=True)
    path = write_gguf(tmp_path / "m.gguf", model, to_gguf_tensors(model, model.weights()))
    data = path.read_bytes()
    end = max(t.offset + t.num_bytes for t in read_gguf_header_of(path).tensors)
    for size in [*range(0, 400), *range(400, end, 997), end - 1]:
        with pytest.raises(AppError):
            parse(data[:size])


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidSourceError, match=r"absent\.gguf: cannot be read"):
        read_gguf_header_of(tmp_path / "absent.gguf")

"""Every native ggml type, bit for bit against gguf's own decoder on random bytes."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

from app.checkpoint.layout import check_linear
from app.checkpoint.reference_quant import dequantize
from app.converter.sources import gguf_codes
from app.converter.sources.file_rows import FileRows
from app.converter.sources.gguf_blocks import NATIVE_TYPES
from app.converter.sources.gguf_decode import check_decodable, iter_dense, load_native
from app.core.errors import InvalidSourceError, UnsupportedError
from app.spec.gguf_types import GGML_TYPES, GgmlType
from tests.gguf_factory import RANDOM_TYPES, Q, random_blocks

_TYPES = {kind.name: kind for kind in GGML_TYPES.values()}
_ROWS, _COLUMNS = 40, 768


def write_rows(path: Path, kind: GgmlType, seed: int) -> tuple[FileRows, np.ndarray]:
    raw = random_blocks(Q[kind.name], _ROWS, _COLUMNS, np.random.default_rng(seed))
    path.write_bytes(b"head" + raw.tobytes())
    return FileRows(path, 4, _ROWS, raw.shape[1]), raw


@pytest.mark.parametrize("is_native", [True, False])
@pytest.mark.parametrize("name", NATIVE_TYPES)
def test_native_types_decode_to_ggufs_bits(
    name: str, is_native: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gguf_codes, "is_available", lambda: is_native)
    kind = _TYPES[name]
    for seed in range(5):
        rows, raw = write_rows(tmp_path / "rows.bin", kind, seed)
        linear = load_native(rows, kind, (_ROWS, _COLUMNS), "t")
        check_linear("t", linear)
        wanted = gguf.quants.dequantize(raw, Q[name])
        assert dequantize(linear).view(np.uint32).tolist() == wanted.view(np.uint32).tolist()


@pytest.mark.parametrize("name", RANDOM_TYPES)
def test_dense_decoding_is_ggufs_in_every_block_of_rows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.converter.sources.file_rows.BLOCK_ELEMENTS", 7 * _COLUMNS)
    rows, raw = write_rows(tmp_path / "rows.bin", _TYPES[name], 0)
    blocks = list(iter_dense(rows, _TYPES[name], (_ROWS, _COLUMNS), "t"))
    assert [part.start for part, _ in blocks] == list(range(0, _ROWS, 7))
    found = np.concatenate([block for _, block in blocks])
    np.testing.assert_array_equal(found, gguf.quants.dequantize(raw, Q[name]))


def test_all_types_that_gguf_decodes_are_decodable() -> None:
    for kind in GGML_TYPES.values():
        try:
            gguf.quants.dequantize(np.zeros((1, kind.block_bytes), np.uint8), Q(kind.type_id))
        except (NotImplementedError, ValueError):
            with pytest.raises(UnsupportedError, match=rf"{kind.name}, which is not supported"):
                check_decodable(kind, "t", "m.gguf")
        else:
            check_decodable(kind, "t", "m.gguf")


@pytest.mark.parametrize(("name", "scale_at"), [("Q4_1", 2), ("Q6_K", 208), ("IQ2_XXS", 0)])
def test_scales_that_are_not_finite_name_the_tensor(
    name: str, scale_at: int, tmp_path: Path
) -> None:
    kind = _TYPES[name]
    rows, raw = write_rows(tmp_path / "rows.bin", kind, 0)
    raw[3, scale_at : scale_at + 2] = (0x00, 0x7C)  # +infinity
    rows.path.write_bytes(b"head" + raw.tobytes())
    read = load_native if name in NATIVE_TYPES else lambda *args: list(iter_dense(*args))
    with pytest.raises(InvalidSourceError, match=r"rows\.bin: tensor 't' is damaged"):
        read(rows, kind, (_ROWS, _COLUMNS), "t")


def test_rows_in_another_order(tmp_path: Path) -> None:
    kind = _TYPES["Q4_K"]
    rows, raw = write_rows(tmp_path / "rows.bin", kind, 0)
    order = np.random.default_rng(1).permutation(_ROWS)
    shuffled = FileRows(rows.path, rows.offset, rows.num_rows, rows.row_bytes, order)
    linear = load_native(shuffled, kind, (_ROWS, _COLUMNS), "t")
    np.testing.assert_array_equal(dequantize(linear), gguf.quants.dequantize(raw, Q.Q4_K)[order])


def test_a_file_that_became_shorter_is_named(tmp_path: Path) -> None:
    rows, raw = write_rows(tmp_path / "rows.bin", _TYPES["Q8_0"], 0)
    rows.path.write_bytes(raw.tobytes()[:100])
    with pytest.raises(InvalidSourceError, match="became shorter"):
        rows.read()

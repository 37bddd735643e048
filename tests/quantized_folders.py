"""Quantized folders as tests open them: committed fixtures, and damaged copies of them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file, save_file

from app.checkpoint.layout import check_linear
from app.checkpoint.reference_quant import dequantize
from app.checkpoint.tensor_file import TensorFile
from app.converter.sources.base import Source, SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.detect import open_source
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace

Arrays = dict[str, npt.NDArray[Any]]
FIXTURES = Path(__file__).parent / "fixtures"


def copy_fixture(format_name: str, case: str, target: Path) -> Path:
    """A fixture as a folder of its own, with a tokenizer file."""
    shutil.copytree(FIXTURES / format_name / case, target)
    (target / "tokenizer.json").write_text("{}", encoding="utf-8")
    return target


def edit_tensors(folder: Path, edit: Callable[[Arrays], None]) -> Path:
    """Changes the folder's only weight file in place."""
    tensors = load_file(folder / "model.safetensors")
    edit(tensors)
    save_file(tensors, folder / "model.safetensors")
    return folder


def edit_config(folder: Path, edit: Callable[[dict[str, Any]], None]) -> Path:
    """Changes config.json in place."""
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    edit(config)
    path.write_text(json.dumps(config), encoding="utf-8")
    return folder


def open_fixture(format_name: str, case: str, tmp_path: Path) -> Source:
    """A fixture as a source."""
    return open_source(copy_fixture(format_name, case, tmp_path / case))


def expected_hashes(format_name: str, case: str) -> dict[str, str]:
    """By linear, the hash of what the format's own library decodes (tests/fixtures/make_*.py)."""
    path = FIXTURES / format_name / case / "expected.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def quantized_linears(source: Source) -> dict[str, SourceLinear]:
    """By their stem in the folder."""
    found = (linear for part in source.parts() for linear in part.linears if linear.is_quantized)
    return {linear.source_name.rsplit(".", 1)[0]: linear for linear in found}


def fingerprint(weight: npt.NDArray[np.float32]) -> str:
    """As in expected.json: of the float32 bytes, minus zero counting as zero."""
    return hashlib.sha256((weight.astype("<f4") + np.float32(0)).tobytes()).hexdigest()


def check_decoding(source: Source, expected: dict[str, str]) -> None:
    """Every linear decodes to the hash, by `load_dense` and by blocks, and is listed whole."""
    linears = quantized_linears(source)
    assert linears.keys() == expected.keys()
    for stem, linear in linears.items():
        weight = linear.load_dense()
        assert weight.dtype == np.float32
        assert weight.shape == linear.shape
        assert fingerprint(weight) == expected[stem], stem
        assert not np.signbit(weight[weight == 0]).any(), stem
        check_rows(linear)


def check_rows(linear: SourceLinear) -> None:
    """Rows asked for alone, at odd places, are those of the whole."""
    weight, count = linear.load_dense(), linear.shape[0]
    assert linear.load_rows is not None
    for start, stop in ((0, 1), (count // 3, 2 * count // 3 + 1), (count - 1, count), (0, count)):
        np.testing.assert_array_equal(linear.load_rows(slice(start, stop)), weight[start:stop])


def check_native(linear: SourceLinear) -> None:
    """`load_native` fits the native format and decodes to the very bits of `load_dense`."""
    native = linear.load_native()
    assert native.quant is not None
    assert linear.native is not None
    check_linear(linear.name, native)
    assert native.quant.bits == linear.native.bits
    found, wanted = dequantize(native), linear.load_dense()
    np.testing.assert_array_equal(found.view(np.uint32), wanted.view(np.uint32), linear.name)
    check_rows(linear)


def open_single(
    create: Callable[[Declaration, Folder], LinearFormat],
    declared: dict[str, Any],
    arrays: Arrays,
    shape: tuple[int, int],
    path: Path,
) -> SourceLinear:
    """One linear of any shape, of arrays named by what follows its stem, written to `path`."""
    tensors = {f"x.{name}": array for name, array in arrays.items()}
    save_file(tensors, path)
    file = TensorFile(path)
    stored = {n: StoredArray(n, path, e.dtype, e.shape, e.offset) for n, e in file.entries.items()}
    file.close()
    folder = SimpleNamespace(name="x", tensors=stored)
    linear_format = create(Declaration("x", declared, "config.json"), folder)
    claims = TensorClaims(stored)
    linear = linear_format.open_linear(LinearPlace("layers.0.x", "x", shape), claims)
    claims.check(ignored=linear_format.ignored(stored), architecture="one linear", file="x")
    assert linear is not None
    return linear

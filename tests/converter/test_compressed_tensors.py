"""compressed-tensors: the package's own compressors of two releases, every bit width and kind."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from tests.quantized_folders import check_rows, quantized_linears

_FIXTURES = Path(__file__).parents[1] / "fixtures" / "compressed_tensors"
_EXACT = {"w4_g128": 7, "w4_g32_asym": 7, "bits": 7, "padded": 7, "mixed": 4}
_DTYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32}


def digest(weight: npt.NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(weight).tobytes()).hexdigest()


@pytest.mark.parametrize("name", _EXACT)
def test_what_the_package_compressed_decodes_to_its_bits(name: str) -> None:
    expected = json.loads((_FIXTURES / name / "expected.json").read_text())
    linears = quantized_linears(open_source(_FIXTURES / name))
    assert linears.keys() == expected.keys()
    for stem, digests in expected.items():
        linear = linears[stem]
        weight = linear.load_dense()
        check_rows(linear)
        for dtype, wanted in digests.items():  # the package's own dtypes: rounded once more
            assert digest(weight.astype(_DTYPES[dtype])) == wanted, stem
        if linear.native is not None:
            np.testing.assert_array_equal(dequantize(linear.load_native()), weight, err_msg=stem)


@pytest.mark.parametrize(("name", "num_exact"), _EXACT.items())
def test_fixtures_convert(name: str, num_exact: int, tmp_path: Path) -> None:
    report = convert(_FIXTURES / name, tmp_path / "out")
    assert report.format == "compressed-tensors"
    assert report.num_exact == num_exact
    assert report.lossless is (num_exact == 7)
    requantized = {tensor.source_type for tensor in report.tensors if tensor.rel_err > 0}
    assert requantized == (set() if num_exact == 7 else {"FP8"})

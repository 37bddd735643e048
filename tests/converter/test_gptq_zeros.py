"""Which zero convention a GPTQ linear follows: labels lie, data decides, two meanings are refused.

The public reports: vllm#38966 and #26343 (labels), GPTQModel and AutoGPTQ on zero points of 0.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.converter.sources.detect import open_source
from app.core.errors import InvalidSourceError
from tests.converter.gptq_encoder import GptqCase, pack_stream
from tests.converter.gptq_folder import GptqFolder, create_folder
from tests.converter.test_gptq import check_exact

_TRUE_ZEROS = (5, 0, 3, 8, 0, 0, 15, 7)  # of formats where a borrow crosses fields
STEM = "model.layers.0.mlp.up_proj"


def with_zeros(
    bits: int, write: Callable[[npt.NDArray[Any]], npt.NDArray[Any]], **table: Any
) -> GptqFolder:
    """An asymmetric folder where one linear has zero points of 0, written by `write`."""
    folder = create_folder(bits=bits, sym=False, table=table)
    case = folder.cases[STEM]
    zeros = np.resize(np.array(_TRUE_ZEROS) % (1 << bits), case.zeros.shape)
    folder.cases[STEM] = GptqCase(case.codes, zeros, case.scales, case.g_idx, bits)
    folder.tensors[f"{STEM}.qzeros"] = write(zeros).view(np.int32)
    return folder


def subtract_from_words(bits: int) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
    """GPTQModel: a one from every field of the packed word, borrows and all."""
    ones = np.uint32(sum(1 << shift for shift in range(0, 32, bits)))
    return lambda zeros: pack_stream(zeros, bits) - ones


def flood(bits: int) -> Callable[[npt.NDArray[Any]], npt.NDArray[Any]]:
    """AutoGPTQ: uint32(zero - 1), shifted and ORed: a zero of 0 sets every higher bit."""

    def write(zeros: npt.NDArray[Any]) -> npt.NDArray[Any]:
        fields = (zeros - 1).astype(np.uint32).reshape(zeros.shape[0], -1, 32 // bits)
        shifted = fields << np.arange(0, 32, bits, dtype=np.uint32)
        return np.ascontiguousarray(np.bitwise_or.reduce(shifted, axis=2))

    return write


@pytest.mark.parametrize("less_one", [True, False], ids=["7 stored", "8 stored"])
@pytest.mark.parametrize("label", ["gptq", "gptq_v2", None])
def test_symmetric_data_overrules_the_label(
    label: str | None, less_one: bool, tmp_path: Path
) -> None:
    folder = create_folder(less_one=less_one, table={"checkpoint_format": label} if label else {})
    word = folder.tensors[f"{STEM}.qzeros"].view(np.uint32)
    assert set(word.flat) == {0x77777777 if less_one else 0x88888888}
    notes = check_exact(folder, tmp_path / "hf").notes
    is_right = less_one == (label != "gptq_v2")
    assert (notes == ()) == is_right
    if not is_right:
        assert "14 linears follow another convention" in notes[0]


@pytest.mark.parametrize("less_one", [True, False], ids=["v1", "v2"])
def test_nobody_says_whether_it_is_symmetric(less_one: bool, tmp_path: Path) -> None:
    folder = create_folder(less_one=less_one, table={"sym": None})
    notes = check_exact(folder, tmp_path / "sym").notes
    assert (notes == ()) == less_one, "a folder without a label is of version 1"
    label = {"sym": None, "checkpoint_format": "gptq" if less_one else "gptq_v2"}
    folder = create_folder(less_one=less_one, sym=False, table=label)
    assert check_exact(folder, tmp_path / "asym").notes == ()


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_gptqmodel_borrows_across_fields(bits: int, tmp_path: Path) -> None:
    meta = {"quantizer": ["optimum:1.2", "gptqmodel:2.0.0"]}
    folder = with_zeros(bits, subtract_from_words(bits), meta=meta)
    assert check_exact(folder, tmp_path / "hf").notes == ()


def test_gptqmodel_wraps_each_field_of_three_bits(tmp_path: Path) -> None:
    def write(zeros: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return pack_stream((zeros - 1) & 7, 3)

    folder = with_zeros(3, write, meta={"quantizer": "gptqmodel:7.7.0"})
    check_exact(folder, tmp_path / "hf")
    folder = with_zeros(3, write, meta={"quantizer": "gptqmodel:2.2.0"})
    with pytest.raises(InvalidSourceError, match=f"{STEM} holds a zero point of 0"):
        open_source(folder.write(tmp_path / "old"))


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("how", [flood, subtract_from_words])
def test_two_meanings_are_refused(
    how: Callable[[int], Callable[[npt.NDArray[Any]], npt.NDArray[Any]]],
    bits: int,
    tmp_path: Path,
) -> None:
    folder = with_zeros(bits, how(bits), meta={"quantizer": "optimum:1.2"})
    with pytest.raises(InvalidSourceError, match=f"{STEM} holds a zero point of 0"):
        open_source(folder.write(tmp_path / "hf"))


def test_version_two_stores_zero(tmp_path: Path) -> None:
    folder = with_zeros(4, lambda zeros: pack_stream(zeros, 4), checkpoint_format="gptq_v2")
    for stem, case in folder.cases.items():
        folder.tensors[f"{stem}.qzeros"] = pack_stream(case.zeros, 4).view(np.int32)
    assert check_exact(folder, tmp_path / "hf").notes == ()


@pytest.mark.parametrize(
    ("sym", "label", "less_one", "reason"),
    [
        (True, "gptq", True, "sym true and layout gptq, but its zero points are stored as 0 to 13"),
        (False, "gptq", False, "sym false and layout gptq, but its zero points are stored as 8"),
        (False, "gptq_v2", True, "sym false and layout gptq_v2, but .* are stored as 7"),
    ],
)
def test_label_and_data_contradict(
    sym: bool, label: str, less_one: bool, reason: str, tmp_path: Path
) -> None:
    folder = create_folder(
        sym=not sym, less_one=less_one, table={"sym": sym, "checkpoint_format": label}
    )
    with pytest.raises(InvalidSourceError, match=reason):
        open_source(folder.write(tmp_path / "hf"))

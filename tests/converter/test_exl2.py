"""EXL2 folders from the formula: groups of several widths in one linear, columns reordered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reference_quant import dequantize
from app.converter.grids import Grid, convert_linear, plan_linear
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.converter.verify import verify_exact
from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from tests.converter.gptq_encoder import pack_stream
from tests.converter.gptq_folder import linear_stems
from tests.converter.test_dense_source import hf_tensors, write_folder
from tests.converter.test_gptq import assert_same_bits, quantized
from tests.gguf_factory import TinyModel
from tests.quantized_folders import check_rows

Tensors = dict[str, npt.NDArray[Any]]
MODEL = TinyModel("llama", hidden=64, inner=96, vocab=290)  # the head is padded to 320 rows
TABLE = {"quant_method": "exl2", "version": "0.3.2", "bits": 4.0, "head_bits": 6}


@dataclass
class Exl2Case:
    """One linear [out, in]: codes [in, out] in stored order, scale codes [G, out], maxima [G]."""

    widths: tuple[tuple[int, int], ...]  # (bits, columns) of each group
    codes: npt.NDArray[Any]
    steps: npt.NDArray[Any]
    maxima: npt.NDArray[np.float16]
    inverse: npt.NDArray[Any]  # [in]: where an input's weights stand

    @property
    def weight(self) -> npt.NDArray[np.float32]:
        scales = (self.steps.astype(np.float32) + 1) ** 2 * self.maxima.astype(np.float32)[:, None]
        group = np.repeat(np.arange(len(self.widths)), [count for _, count in self.widths])
        middle = np.repeat([1 << bits - 1 for bits, _ in self.widths], np.bincount(group))
        stored = (self.codes - middle[:, None]).astype(np.float32) * (scales / 256)[group]
        return np.ascontiguousarray(stored[self.inverse].T)

    def arrays(self) -> Tensors:
        missing = -self.codes.shape[1] % 32
        words, groups, column = [], [], 0
        for bits, count in self.widths:
            groups += [bits, sum(len(w) for w in words)]
            piece = np.pad(self.codes[column : column + count], ((0, 0), (0, missing)))
            words.append(pack_stream(np.ascontiguousarray(piece.T), bits).T)
            column += count
        return {
            "q_weight": np.ascontiguousarray(np.concatenate(words)).view(np.int32),
            "q_groups": np.array(groups, np.int16),
            "q_scale": pack_stream(np.pad(self.steps, ((0, 0), (0, missing))), 4).view(np.int32),
            "q_scale_max": self.maxima,
            "q_invperm": self.inverse,
        }


def random_case(
    shape: tuple[int, int], widths: tuple[tuple[int, int], ...], seed: int, *, in_order: bool
) -> Exl2Case:
    rng = np.random.default_rng(seed)
    out_features, in_features = shape
    codes = [rng.integers(0, 1 << bits, (count, out_features)) for bits, count in widths]
    inverse = np.arange(in_features)
    return Exl2Case(
        widths,
        np.concatenate(codes),
        rng.integers(0, 16, (len(widths), out_features)),
        (rng.random(len(widths)) * 0.01).astype(np.float16),
        (inverse if in_order else rng.permutation(inverse)).astype(np.int16),
    )


Widths = tuple[tuple[int, int], ...]


def create(
    widths: dict[int, Widths], *, in_order: bool = False
) -> tuple[dict[str, Exl2Case], Tensors]:
    """Cases and tensors of a model whose linears of 64 and 96 columns have these groups."""
    tensors = hf_tensors(MODEL, np.float16)
    cases = {}
    for seed, stem in enumerate([*linear_stems(MODEL), "lm_head"]):
        rows, columns = tensors.pop(f"{stem}.weight").shape
        cases[stem] = random_case((rows, columns), widths[columns], seed, in_order=in_order)
        tensors |= {f"{stem}.{name}": array for name, array in cases[stem].arrays().items()}
    return cases, tensors


MIXED: dict[int, Widths] = {
    64: ((8, 16), (6, 16), (5, 32)),
    96: ((4, 32), (3, 32), (2, 32)),
}


@pytest.mark.parametrize("in_order", [True, False], ids=["in order", "reordered"])
@pytest.mark.parametrize(
    ("widths", "native"),
    [
        (MIXED, {64: (8, 16), 96: (4, 32)}),
        ({64: ((4, 32), (4, 32)), 96: ((4, 64), (4, 32))}, {64: (4, 32), 96: (4, 64)}),
        ({64: ((3, 64),), 96: ((2, 64), (2, 32))}, {64: (3, -1), 96: (3, 64)}),
        ({64: ((5, 64),), 96: ((6, 32), (6, 48), (6, 16))}, {64: (8, -1), 96: (8, 16)}),
    ],
    ids=["mixed widths", "4 bits", "3 and 2 bits", "uneven groups"],
)
def test_widths_and_groups(
    widths: dict[int, Widths], native: dict[int, tuple[int, int]], in_order: bool, tmp_path: Path
) -> None:
    cases, tensors = create(widths, in_order=in_order)
    source = open_source(write_folder(tmp_path / "hf", MODEL, tensors, quantization_config=TABLE))
    assert source.format == "exl2"
    for stem, linear in quantized(source).items():
        weight = cases[stem].weight
        assert_same_bits(linear.load_dense(), weight, stem)
        check_rows(linear)
        stored = linear.load_native()
        assert_same_bits(dequantize(stored), weight, stem)
        assert stored.quant is not None
        assert (stored.quant.bits, stored.quant.group_size) == native[linear.shape[1]]
        assert (stored.perm is None) == in_order
        converted = verify_exact(linear, convert_linear(linear, plan_linear(linear, Grid.EXACT)))
        assert converted.path == "exact"


def test_groups_that_no_native_one_divides_are_requantized(tmp_path: Path) -> None:
    """Groups of 8 columns of 4 bits; the error is said."""
    cases, tensors = create({64: ((4, 8), (4, 56)), 96: ((4, 96),)})
    path = write_folder(tmp_path / "hf", MODEL, tensors, quantization_config=TABLE)
    linears = quantized(open_source(path))
    assert linears["lm_head"].native is None
    assert_same_bits(linears["lm_head"].load_dense(), cases["lm_head"].weight, "lm_head")
    report = convert(path, tmp_path / "out")
    assert (report.num_requant, report.num_exact) == (13, 2)
    assert 0 < report.rel_err_max < 0.01


MUTATIONS = {
    "q_weight cut": ("q_weight", lambda a: a[:-1]),
    "q_weight int64": ("q_weight", lambda a: a.astype(np.int64)),
    "q_scale turned": ("q_scale", lambda a: a.reshape(-1)),
    "q_scale_max nan": ("q_scale_max", lambda a: a * np.float16(np.nan)),
    "q_scale_max inf": ("q_scale_max", lambda a: a + np.float16(np.inf)),
    "q_scale_max float32": ("q_scale_max", lambda a: a.astype(np.float32)),
    "7 bits": ("q_groups", lambda a: np.where(np.arange(a.size) == 0, 7, a).astype(np.int16)),
    "other bits": ("q_groups", lambda a: np.where(np.arange(a.size) == 0, 4, a).astype(np.int16)),
    "words not rising": ("q_groups", lambda a: np.where(a == a[3], 0, a).astype(np.int16)),
    "first word not 0": ("q_groups", lambda a: np.where(a == 0, 1, a).astype(np.int16)),
    "q_groups empty": ("q_groups", lambda a: a[:0]),
    "q_groups odd": ("q_groups", lambda a: a[:-1]),
    "q_groups as a matrix": ("q_groups", lambda a: a.reshape(-1, 2)),
    "q_invperm twice": ("q_invperm", lambda a: np.where(a == 3, 4, a).astype(np.int16)),
    "q_invperm beyond": ("q_invperm", lambda a: np.where(a == 3, 4000, a).astype(np.int16)),
    "q_invperm cut": ("q_invperm", lambda a: a[:-1]),
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutations_are_refused(mutation: str, tmp_path: Path) -> None:
    _, tensors = create(MIXED)
    name, change = MUTATIONS[mutation]
    key = f"model.layers.1.mlp.up_proj.{name}"
    tensors[key] = np.ascontiguousarray(change(tensors[key]))
    path = write_folder(tmp_path / "hf", MODEL, tensors, quantization_config=TABLE)
    with pytest.raises(AppError, match=r"^[^\n]*up_proj[^\n]*\.$"):
        convert(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["q_weight", "q_scale", "q_scale_max", "q_groups", "q_invperm"])
def test_missing_tensors_are_named(name: str, tmp_path: Path) -> None:
    _, tensors = create(MIXED)
    del tensors[f"model.layers.1.mlp.up_proj.{name}"]
    path = write_folder(tmp_path / "hf", MODEL, tensors, quantization_config=TABLE)
    with pytest.raises(InvalidSourceError, match="up_proj"):
        open_source(path)


def test_exl3_is_refused_by_name(tmp_path: Path) -> None:
    tensors = hf_tensors(MODEL, np.float16)
    tensors["lm_head.trellis"] = np.zeros((4, 18, 64), np.int16)
    del tensors["lm_head.weight"]
    table = {"quant_method": "exl3", "bits": 4.0}
    with pytest.raises(UnsupportedError, match="method exl3"):
        open_source(write_folder(tmp_path / "hf", MODEL, tensors, quantization_config=table))

"""Every family: transformers' logits from its own folder and from GGUF, by both executors.

Sequences are longer than every window and than the length for which a rope was trained.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest

from app.converter.pipeline import convert
from app.core.errors import UnsupportedError
from tests.families.cases import CASES
from tests.family_models import (
    NUM_TOKENS,
    FamilyCase,
    cpu_logits,
    expected_logits,
    reference_logits,
    write_family_gguf,
    write_folder,
)

TOLERANCE = 1e-4
SIZES = {"whole": NUM_TOKENS, "chunked": 13, "decode": 1}


@dataclass(frozen=True)
class Conversions:
    """One case's files, each made when it is first asked for."""

    case: FamilyCase
    root: Path

    @cached_property
    def folder(self) -> Path:
        return write_folder(self.case, self.root / "folder")

    @cached_property
    def dense(self) -> Path:
        return self._convert(self.folder, "dense")

    @cached_property
    def int8(self) -> Path:
        return self._convert(self.folder, "w8")

    @cached_property
    def from_gguf(self) -> Path:
        assert self.case.gguf
        path = write_family_gguf(self.case.gguf, self.folder, self.root / "model.gguf")
        return self._convert(path, "dense")

    def _convert(self, source: Path, grid: str) -> Path:
        output = self.root / f"{source.name}-{grid}"
        convert(source, output, grid=grid, group_size=32, tokenizer_dir=self.folder)
        return output


@pytest.fixture(scope="module")
def conversions(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Conversions:
    """The files of one case, shared by all its tests."""
    return Conversions(request.param, tmp_path_factory.mktemp("family"))


def cases(chosen: list[FamilyCase]) -> pytest.MarkDecorator:
    """Runs a test for each case."""
    return pytest.mark.parametrize("conversions", chosen, indirect=True, ids=str, scope="module")


ALL = cases(CASES)
WITH_GGUF = cases([case for case in CASES if case.gguf])
ON_CPU = cases([case for case in CASES if not case.cpu_refusal])


@ALL
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_folder_says_what_transformers_says(conversions: Conversions, size: int) -> None:
    got = reference_logits(conversions.dense, size)
    want = expected_logits(conversions.case)
    np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE)


@ALL
def test_int8_is_close(conversions: Conversions) -> None:
    got, want = reference_logits(conversions.int8), expected_logits(conversions.case)
    assert np.isfinite(got).all()
    errors = np.linalg.norm(got - want, axis=1) / np.linalg.norm(want, axis=1)
    # Experts that are nearly as good as the chosen ones take their places, at some positions.
    assert np.median(errors) < 0.1


@WITH_GGUF
def test_gguf_says_what_transformers_says(conversions: Conversions) -> None:
    got = reference_logits(conversions.from_gguf)
    want = expected_logits(conversions.case)
    np.testing.assert_allclose(got, want, rtol=0, atol=TOLERANCE)


@ALL
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_the_cpu_executor_says_the_same(conversions: Conversions, size: int) -> None:
    if refusal := conversions.case.cpu_refusal:
        with pytest.raises(UnsupportedError, match=refusal):
            cpu_logits(conversions.dense)
        return
    want = reference_logits(conversions.dense)
    np.testing.assert_allclose(cpu_logits(conversions.dense, size), want, rtol=0, atol=TOLERANCE)


@ON_CPU
def test_the_cpu_executor_says_the_same_of_int8(conversions: Conversions) -> None:
    """At each position: float32's rounding grows with the logits, which are largest in Gemma."""
    got, want = cpu_logits(conversions.int8), reference_logits(conversions.int8)
    errors = np.linalg.norm(got - want, axis=1) / np.linalg.norm(want, axis=1)
    assert errors.max() <= TOLERANCE

"""GPTQ and AutoRound folders made and decoded by their own packages: our bits are theirs.

tests/fixtures/make_gptq.py (GPTQModel 7.7.0) and make_autoround.py (auto-round 0.16.1) made them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.checkpoint.reference_quant import dequantize
from app.checkpoint.schemes import Linear
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from tests.quantized_folders import FIXTURES, expected_hashes, fingerprint, quantized_linears

CASES = [
    (path.parent.name, path.name)
    for name in ("gptq", "autoround")
    for path in sorted((FIXTURES / name).iterdir())
]
NAMES = [f"{package}-{case}" for package, case in CASES]


def natives(folder: Path) -> Iterator[Linear]:
    """Every quantized linear in native form."""
    return (linear.load_native() for linear in quantized_linears(open_source(folder)).values())


@pytest.mark.parametrize(("package", "case"), CASES, ids=NAMES)
def test_both_decoders_give_the_packages_bits(package: str, case: str) -> None:
    expected = expected_hashes(package, case)
    linears = quantized_linears(open_source(FIXTURES / package / case))
    assert linears.keys() == expected.keys()
    for stem, linear in linears.items():
        assert fingerprint(linear.load_dense()) == expected[stem], stem
        assert fingerprint(dequantize(linear.load_native())) == expected[stem], stem


@pytest.mark.parametrize(("package", "case"), CASES, ids=NAMES)
def test_conversion_is_lossless(package: str, case: str, tmp_path: Path) -> None:
    report = convert(FIXTURES / package / case, tmp_path / "out")
    assert report.lossless
    assert report.num_exact == len(expected_hashes(package, case))
    by_name = {"asym4_as_gptq": "gptq"} if package == "autoround" else {}
    assert report.format == by_name.get(case, package.replace("autoround", "auto-round"))


def test_the_fixtures_hold_what_is_hard() -> None:
    """Real orders, borrows and scales of both signs: otherwise the tests above prove little."""
    linears = {case: list(natives(FIXTURES / package / case)) for package, case in CASES}
    ordered = {case for case, found in linears.items() if any(n.perm is not None for n in found)}
    assert ordered == {case for case in linears if case.endswith("_act")} | {"dynamic"}
    two_bits = [n.zeros for n in linears["int2_asym_act"] if n.zeros is not None]
    assert any((zeros == 0).any() for zeros in two_bits)
    four_bits = [n.scales for n in linears["sym4"] if n.scales is not None]
    assert all((scales < 0).any() and (scales > 0).any() for scales in four_bits)

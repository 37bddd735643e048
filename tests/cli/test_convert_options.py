"""`convert`: options about quality, and what they print."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from app.cli.options import byte_count
from app.converter import evaluation
from tests.gguf_factory import Q, TinyModel, to_gguf_tensors, write_gguf


@pytest.fixture
def source(tmp_path: Path) -> Path:
    model = TinyModel("llama", hidden=64, inner=96)
    tensors = to_gguf_tensors(model, model.weights())
    types = {name: Q.Q4_1 for name in tensors if "norm" not in name}
    return write_gguf(tmp_path / "model.gguf", model, tensors, types)


def convert(capsys: pytest.CaptureFixture[str], source: Path, *options: str) -> tuple[int, Any]:
    code = main(["convert", str(source), "-o", str(source.parent / "out"), *options, "--json"])
    out = capsys.readouterr().out
    return code, json.loads(out) if out else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1000", 1000), ("2K", 2048), ("3.5G", 3758096384), ("16MiB", 16 << 20), ("1 gb", 1 << 30)],
)
def test_bytes(text: str, expected: int) -> None:
    assert byte_count(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-5", "12T", "1.2.3G", "G", "nan", "9" * 400])
def test_what_is_no_number_of_bytes(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="number of bytes like 3500M"):
        byte_count(text)


def test_a_budget_is_met_and_told(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--grid", "w3w4", "--group-size", "32", "--vram-budget"]
    assert main(["convert", str(source), "-o", str(source.parent / "out"), *options, "1K"]) == 1
    refusal = re.search(
        r"weights take ([\d,]+) and the workspace ([\d,]+)", capsys.readouterr().err
    )
    assert refusal is not None
    budget = sum(int(number.replace(",", "")) for number in refusal.groups()) + 4096
    code, document = convert(capsys, source, *options, str(budget))
    assert code == 0
    (note,) = [note for note in document["notes"] if note.startswith("Budget")]
    assert f"{budget:,} bytes" in note
    assert "at 3 bits" in note


def test_a_budget_that_cannot_be_met_is_one_sentence(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["convert", str(source), "-o", str(source.parent / "out")]
    assert main([*arguments, "--grid", "w3w4", "--vram-budget", "1K"]) == 1
    assert "The budget of 1,024 bytes cannot be met" in capsys.readouterr().err
    assert [path.name for path in source.parent.iterdir()] == ["model.gguf"]


@pytest.mark.parametrize("options", [("--grid", "w3w4"), ("--vram-budget", "1G")])
def test_options_that_need_each_other(
    options: tuple[str, ...], source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert convert(capsys, source, *options)[0] == 2


def test_compare_prints_grids_side_by_side(
    source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "MAX_TOKENS", 64)
    code, document = convert(capsys, source, "--compare", "w4,w8", "--verify")
    assert code == 0
    assert [row["grid"] for row in document["evaluations"]] == ["this", "w4", "w8"]
    assert document["evaluations"][0]["proven"]
    assert document["evaluations"][1]["kl_mean"] > document["evaluations"][2]["kl_mean"] > 0


def test_evaluations_for_people(
    source: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "MAX_TOKENS", 64)
    arguments = ["convert", str(source), "-o", str(source.parent / "out"), "--grid", "w4", "--eval"]
    assert main(arguments) == 0
    captured = capsys.readouterr()
    head, row = captured.out.splitlines()[-2:]
    assert " ".join(head.split()) == ("GRID SIZE LARGEST ERROR PERPLEXITY MEAN KL SAME FIRST TOKEN")
    assert row.startswith("this")
    assert "evaluating this" in captured.err


def test_an_unknown_grid_to_compare_is_a_usage_error(
    source: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["convert", str(source), "-o", str(source.parent / "o"), "--compare", "w5"]) == 2
    assert "'w5' cannot be compared with" in capsys.readouterr().err

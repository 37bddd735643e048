"""`deepinfer export` on the real starter model, put on a grid that other engines have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli.main import main


@pytest.fixture(scope="module")
def starter_w4(starter_gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("w4") / "starter-w4"
    assert main(["convert", str(starter_gguf), "-o", str(output), "--grid", "w4"]) == 0
    return output


def test_export_reports_what_it_wrote(
    starter_w4: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "für vLLM"
    arguments = ["export", str(starter_w4), "-o", str(output), "--format", "gptq", "--json"]
    capsys.readouterr()
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["output"] == str(output)
    assert document["tensors"] == {"quantized": 210, "dense": 1}
    files = list(output.iterdir())
    assert document["output_bytes"] == sum(file.stat().st_size for file in files)
    names = {file.name for file in files}
    assert {"config.json", "tokenizer.json", "model.safetensors.index.json"} <= names
    assert "conversion_report.md" not in names
    assert main(["inspect", str(output)]) == 0
    assert "gptq" in capsys.readouterr().out


def test_the_starters_own_grid_is_refused_with_the_way_out(
    starter_checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    arguments = ["export", str(starter_checkpoint), "-o", str(output)]
    assert main([*arguments, "--format", "compressed-tensors"]) == 1
    captured = capsys.readouterr()
    assert captured.err.splitlines()[-1].endswith("convert it with --grid w4 or w8 first.")
    assert captured.out == ""
    assert not output.exists()


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "no-such-model", "-o", "x", "--format", "gptq"]) == 1
    assert "no-such-model is neither" in capsys.readouterr().err
    assert main(["export", "m", "-o", "x", "--format", "awq"]) == 2
    assert main(["export", "m", "-o", "x"]) == 2

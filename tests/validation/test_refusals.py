"""What is refused: one sentence, exit code 1, and what a new family would have to say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.cli.main import main
from app.core.validation_events import CheckStatus, DifferenceState, VerdictStatus
from tests.validation_tools import detail, red, report_on, statuses, write_config

COHERE = {"model_type": "cohere", "architectures": ["CohereForCausalLM"], "logit_scale": 0.5}


@pytest.fixture
def cohere(tmp_path: Path) -> Path:
    """Nobody declared it; transformers has it."""
    folder = write_config(tmp_path / "cohere", "cohere")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | COHERE), encoding="utf-8")
    return folder


def test_the_chain_ends_where_it_broke(tmp_path: Path) -> None:
    report = report_on(write_config(tmp_path, "llama", hidden_act="relu"))
    assert red(report) == {"recognised"}
    assert report.verdict.status is VerdictStatus.REFUSED
    assert report.verdict.reason == "hidden_act 'relu' is not implemented."
    assert statuses(report)["smoke_one_layer"] is CheckStatus.NOT_RUN
    assert detail(report, "smoke_one_layer") == "the configuration was refused."
    assert report.chain.adapter == ""


def test_the_nearest_family_is_named(cohere: Path) -> None:
    report = report_on(cohere)
    assert red(report) == {"recognised"}
    assert statuses(report)["differences_model"] is CheckStatus.NOT_RUN
    assert "the nearest family is " in detail(report, "differences_model")
    entries = {entry.name: entry for entry in report.differences}
    assert entries["norm"].reference == "layer_norm, times w"
    assert entries["norm"].state is DifferenceState.DIFFERENT
    assert entries["norms of a layer"].reference == "input_layernorm"
    assert "logit_scale" in entries["keys"].reference


def test_the_command_says_one_sentence(cohere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(cohere)]) == 1
    last = capsys.readouterr().err.rstrip().splitlines()[-1]
    assert last == "deepinfer: The architecture CohereForCausalLM is not supported."


def test_the_document_says_refused(cohere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", str(cohere), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == {
        "status": "refused",
        "reason": "The architecture CohereForCausalLM is not supported.",
    }


@pytest.mark.parametrize("model_type", ["gpt2", "mamba"])
def test_a_module_of_another_build_is_no_crash(model_type: str, tmp_path: Path) -> None:
    names = {"gpt2": "GPT2LMHeadModel", "mamba": "MambaForCausalLM"}
    config = {"model_type": model_type, "architectures": [names[model_type]]}
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    report = report_on(tmp_path)
    assert red(report) == {"recognised"}
    assert "no decoder as known" in detail(report, "differences_model")


def test_nothing_there_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "no such file.gguf"]) == 2
    assert "is neither a file, a folder, a repository" in capsys.readouterr().err

"""The command line on the real starter model: documents, exit codes, one line of reason."""

from __future__ import annotations

import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from app.cli.output import print_json
from app.core.paths import library_dir, log_path, resources_dir
from tests.families.hybrid_cases import CASES as HYBRID_CASES
from tests.family_models import write_folder as write_family_folder
from tests.moe_folders import QWEN3_MOE, random_tensors, write_folder

# Int8 activations against float32 ones.
INT8_PERPLEXITY_CHANGE = 0.005
INT8_TOP1_AGREEMENT = 0.9


@pytest.fixture
def home_with_starter(deepinfer_home: Path, starter_checkpoint: Path) -> Path:
    """A library that holds the starter model under the name `starter`."""
    target = library_dir() / "starter-model"
    target.mkdir(parents=True)
    for file in starter_checkpoint.iterdir():
        (target / file.name).hardlink_to(file)
    return deepinfer_home


@pytest.fixture
def run_json(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command with --json; returns its exit code and document."""

    def run(*arguments: str) -> tuple[int, Any]:
        code = main([*arguments, "--json"])
        out = capsys.readouterr().out
        return code, json.loads(out) if out else None

    return run


def test_inspect_says_what_a_gguf_is(run_json: Any, starter_gguf: Path) -> None:
    code, document = run_json("inspect", str(starter_gguf))
    assert code == 0
    assert document["format"] == "gguf"
    assert document["architecture"] == "LlamaForCausalLM"
    assert document["verdict"]["status"] == "convert"
    assert document["spec"]["num_hidden_layers"] == 30
    assert document["spec"]["rope"]["theta"] == 100000.0
    exact = document["fit"][0]
    assert exact["grid"] == "exact"
    assert 0.9 < exact["weights_bytes"] / starter_gguf.stat().st_size < 1.1
    assert exact["max_context"] > 0
    assert exact["kv_bytes_per_token"] > 0


def test_inspect_knows_a_native_checkpoint(run_json: Any, starter_checkpoint: Path) -> None:
    code, document = run_json("inspect", str(starter_checkpoint))
    assert code == 0
    assert (document["format"], document["verdict"]["status"]) == ("native", "supported")
    assert [row["grid"] for row in document["fit"]] == ["exact"]


def test_inspect_refuses_with_a_verdict_and_a_reason(
    run_json: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "空.gguf"
    path.write_bytes(b"")
    code = main(["inspect", str(path), "--json"])
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert code == 1
    assert document["verdict"]["status"] == "refused"
    assert captured.err == f"deepinfer: {document['verdict']['reason']}\n"
    assert "空.gguf" in captured.err


def test_inspect_for_people_names_format_and_fit(
    capsys: pytest.CaptureFixture[str], starter_gguf: Path
) -> None:
    assert main(["inspect", str(starter_gguf)]) == 0
    out = capsys.readouterr().out
    assert "LlamaForCausalLM" in out
    assert "CONTEXT THAT FITS" in out


def test_convert_reports_a_lossless_conversion(
    run_json: Any, starter_gguf: Path, tmp_path: Path
) -> None:
    output = tmp_path / "with space" / "模型"
    code, document = run_json("convert", str(starter_gguf), "-o", str(output))
    assert code == 0
    assert document["output"] == str(output)
    assert document["lossless"] is True
    assert document["rel_err_max"] == 0.0
    assert document["tensors"] == {"exact": 211, "grid": 0, "requant": 0, "dense": 0}
    assert document["source_bytes"] == starter_gguf.stat().st_size
    assert document["output_bytes"] == sum(
        file.stat().st_size for file in output.iterdir() if file.name != "manifest.json"
    )
    assert document["seconds"] > 0
    assert document["peak_rss_bytes"] > 1 << 20


def test_convert_will_not_overwrite_unasked(
    capsys: pytest.CaptureFixture[str], starter_gguf: Path, home_with_starter: Path
) -> None:
    output = library_dir() / "starter-model"
    before = sorted(output.iterdir())
    assert main(["convert", str(starter_gguf), "-o", str(output)]) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert sorted(output.iterdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["convert"],
        ["convert", "x.gguf", "-o", "y", "--grid", "w5"],
        ["convert", "x.gguf", "-o", "y", "--group-size", "17"],
        ["chat", "m", "--temperature", "-1"],
        ["chat", "m", "--temperature", "nan"],
        ["chat", "m", "--seed", "-1"],
        ["chat", "m", "--max-tokens", "0"],
        ["chat", "m", "--device", "tpu"],
        ["chat", "m", "--json"],
        ["chat", "m", "-p", "x", "--raw", "--system", "s"],
        ["eval", "m"],
        ["eval", "m", "--text", "f", "--ctx", "1"],
        ["bench", "m", "--gen", "0"],
    ],
)
def test_wrong_usage_is_exit_code_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err


@pytest.mark.parametrize(("reason", "told"), [("no such luck", "no such luck"), ("", "ValueError")])
def test_a_fault_is_one_line_and_its_trace_is_in_the_log(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, reason: str, told: str
) -> None:
    def break_down(_path: Path) -> None:
        raise ValueError(*filter(None, [reason]))

    monkeypatch.setattr("app.cli.library.list_entries", break_down)
    assert main(["list"]) == 1
    log = log_path().with_name("cli.log")
    assert capsys.readouterr().err == f"deepinfer: internal error: {told}; see {log}\n"
    assert "in break_down" in log.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["inspect", "chat", "bench", "convert"])
def test_a_model_that_is_not_there_is_one_line(
    capsys: pytest.CaptureFixture[str], command: str
) -> None:
    options = ["-o", "out"] if command == "convert" else []
    assert main([command, "no-such-model", *options]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "no-such-model" in captured.err


def test_the_same_seed_gives_the_same_text(run_json: Any, home_with_starter: Path) -> None:
    command = ["chat", "starter-model", "-p", "Tell me a story.", "--seed", "7"]
    command += ["--temperature", "1", "--max-tokens", "12", "--device", "cpu"]
    (code, first), (_, second) = run_json(*command), run_json(*command)
    assert code == 0
    assert first["token_ids"] == second["token_ids"]
    assert first["text"] == second["text"]
    assert (first["completion_tokens"], first["finish_reason"]) == (12, "length")
    assert first["prompt_tokens"] > 10
    assert first["ttft_s"] > 0
    assert first["decode_tok_s"] > 0


def test_raw_sends_the_prompt_without_template(run_json: Any, home_with_starter: Path) -> None:
    command = ["chat", "starter-model", "-p", "1, 2, 3, 4, 5,", "--temperature", "0"]
    _, raw = run_json(*command, "--max-tokens", "3", "--raw")
    _, templated = run_json(*command, "--max-tokens", "3")
    assert raw["text"].startswith(" 6")
    assert raw["prompt_tokens"] < templated["prompt_tokens"]


def test_chat_streams_text_to_stdout_and_counts_to_stderr(
    capsys: pytest.CaptureFixture[str], home_with_starter: Path
) -> None:
    command = ["chat", "starter-model", "-p", "Hi", "--temperature", "0", "--max-tokens", "5"]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert captured.out.strip()
    assert "5 tokens" in captured.err


def test_a_conversation_sends_its_history(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home_with_starter: Path
) -> None:
    lines = iter(["My name is Ada.", "", "What is my name?", "/bye"])
    monkeypatch.setattr("builtins.input", lambda _prompt: next(lines))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    command = ["chat", "starter-model", "--temperature", "0", "--max-tokens", "24"]
    assert main(command) == 0
    prompts = re.findall(r"(\d+) in the prompt", capsys.readouterr().err)
    first, second = map(int, prompts)
    assert second > first + 24


def test_what_is_piped_in_is_the_prompt(
    run_json: Any, monkeypatch: pytest.MonkeyPatch, home_with_starter: Path
) -> None:
    command = ["chat", "starter-model", "--temperature", "0", "--max-tokens", "4"]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("Grüß\nGott\n".encode())))
    _, piped = run_json(*command)
    _, given = run_json(*command, "-p", "Grüß\nGott")
    assert (piped["prompt_tokens"], piped["text"]) == (given["prompt_tokens"], given["text"])


def test_an_empty_pipe_is_no_prompt(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home_with_starter: Path
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    assert main(["chat", "starter-model"]) == 2
    assert "empty" in capsys.readouterr().err


def test_a_closed_standard_input_is_no_prompt(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home_with_starter: Path
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert main(["chat", "starter-model"]) == 2
    assert "empty" in capsys.readouterr().err


def test_numbers_that_json_does_not_know_are_null(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"kl": float("nan"), "rows": [(1.5, float("-inf"))]})
    assert json.loads(capsys.readouterr().out) == {"kl": None, "rows": [[1.5, None]]}


def test_a_report_is_no_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["validate", "x", "--report", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err


def test_samplers_and_stop_strings_are_options(run_json: Any, home_with_starter: Path) -> None:
    command = ["chat", "starter-model", "-p", "1, 2, 3, 4, 5,", "--raw", "--max-tokens", "9"]
    _, greedy = run_json(*command, "--temperature", "0", "--stop", "8")
    assert (greedy["text"], greedy["finish_reason"]) == (" 6, 7, ", "stop")
    _, drawn = run_json(*command, "--temperature", "2", "--top-k", "1", "--stop", "8")
    assert drawn["text"] == greedy["text"]


def test_a_sampler_out_of_range_is_refused_before_any_work(
    capsys: pytest.CaptureFixture[str], starter_gguf: Path
) -> None:
    assert main(["chat", str(starter_gguf), "-p", "Hi", "--top-p", "1.5"]) == 2
    assert "top_p" in capsys.readouterr().err
    assert not library_dir().exists()


def test_a_source_is_converted_into_the_library_once(
    run_json: Any, capsys: pytest.CaptureFixture[str], starter_gguf: Path
) -> None:
    command = ["chat", str(starter_gguf), "-p", "Hi", "--max-tokens", "1", "--device", "cpu"]
    assert main(command) == 0
    assert "converting" in capsys.readouterr().err
    assert main(command) == 0
    assert "converting" not in capsys.readouterr().err
    _, entries = run_json("list")
    assert [entry["name"] for entry in entries] == [starter_gguf.stem]


def test_a_device_that_is_not_there_is_refused_before_any_work(
    capsys: pytest.CaptureFixture[str], starter_gguf: Path
) -> None:
    assert main(["chat", str(starter_gguf), "-p", "Hi", "--device", "cuda"]) == 1
    assert "NVIDIA driver" in capsys.readouterr().err
    assert not library_dir().exists()


def test_list_and_rm(
    run_json: Any, capsys: pytest.CaptureFixture[str], home_with_starter: Path
) -> None:
    _, entries = run_json("list")
    assert [entry["name"] for entry in entries] == ["starter-model"]
    assert entries[0]["architecture"] == "LlamaForCausalLM"
    assert entries[0]["lossless"] is True
    assert main(["list"]) == 0
    assert "starter-model" in capsys.readouterr().out
    assert main(["rm", "starter-model", "--permanently"]) == 0
    assert run_json("list")[1] == []
    assert main(["rm", "starter-model", "--permanently"]) == 1


def test_eval_measures_perplexity_and_distance(
    run_json: Any, home_with_starter: Path, tmp_path: Path
) -> None:
    text = (resources_dir() / "eval" / "alice.txt").read_text(encoding="utf-8")[:1500]
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    command = ["eval", "starter-model", "--text", str(path), "--ctx", "128", "--device", "cpu"]
    command += ["--against", "starter-model"]
    code, document = run_json(*command, "--activations", "fp32")
    assert code == 0
    assert document["precision"].endswith("A32")
    # Neither a broken model (tens of thousands) nor one that sees the answer (near 1).
    assert 5 < document["perplexity"] < 60
    assert document["tokens"] > 200
    # The yardstick's cache is float32, this one's float16.
    assert math.isclose(document["kl_mean"], 0.0, abs_tol=1e-5)
    assert document["top1_agreement"] == 1.0
    exact = document["perplexity"]
    code, document = run_json(*command)
    assert code == 0
    assert document["precision"].endswith("A8")
    assert abs(document["perplexity"] / exact - 1) < INT8_PERPLEXITY_CHANGE
    assert INT8_TOP1_AGREEMENT < document["top1_agreement"] < 1.0


def test_eval_refuses_a_file_that_is_no_text(
    capsys: pytest.CaptureFixture[str], home_with_starter: Path, tmp_path: Path
) -> None:
    path = tmp_path / "noise.bin"
    path.write_bytes(b"\xff\xfe\x00\xd8")
    assert main(["eval", "starter-model", "--text", str(path)]) == 1
    assert capsys.readouterr().err == "deepinfer: noise.bin is not UTF-8 text.\n"


def test_bench_measures(run_json: Any, home_with_starter: Path) -> None:
    command = ["bench", "starter-model", "--prompt", "32", "--gen", "4", "--batch", "2"]
    code, document = run_json(*command, "--device", "cpu")
    assert code == 0
    assert document["device"] == "cpu"
    assert document["precision"] == "W4A8"
    assert document["kv_dtype"] == "fp16"
    positive = [name for name in document if not isinstance(document[name], str)]
    assert {name for name in positive if not document[name] > 0} == set()
    assert document["bandwidth_fraction"] < 4


def test_inspect_counts_linear_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = next(case for case in HYBRID_CASES if case.name == "qwen3.5")
    folder = write_family_folder(case, tmp_path / "hf")
    assert main(["inspect", str(folder)]) == 0
    assert "2, 6 heads of 16; their state takes 0.0 MiB" in capsys.readouterr().out


def test_inspect_counts_experts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_folder(tmp_path / "hf", QWEN3_MOE, random_tensors(QWEN3_MOE))
    assert main(["inspect", str(folder)]) == 0
    assert "2 of 4 for a token, MLP 64" in capsys.readouterr().out

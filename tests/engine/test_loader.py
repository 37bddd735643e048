"""Loading: what is refused, by name, and what the run-time path does not import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.checkpoint.reader import Checkpoint
from app.core.errors import CheckpointError, EngineError, UnsupportedError, UsageError
from app.core.holds import find_purpose
from app.engine.executors.reference.executor import ReferenceExecutor
from app.engine.loader import load_engine
from tests.tiny_models import write_chat_model

# Run in a fresh interpreter: this one has torch already.
_LOAD_WITHOUT = """
import sys
from pathlib import Path
for name in ("torch", "transformers", "PySide6"):
    sys.modules[name] = None
from app.core.errors import AppError
from app.engine.host import EngineHost
from app.engine.request import Request, SamplingParams
with EngineHost() as host:
    try:
        host.load_and_wait(Path(sys.argv[1]), device=sys.argv[2])
        request = Request(prompt="Hi", sampling=SamplingParams(max_tokens=3, ignore_eos=True))
        print(host.submit(request).result().usage.completion_tokens, "tokens")
    except AppError as error:
        print(type(error).__name__, error.message)
"""


def load_without_torch(model_dir: Path, device: str) -> str:
    command = [sys.executable, "-c", _LOAD_WITHOUT, str(model_dir), device]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_cpu_path_runs_without_torch_transformers_and_qt(tmp_path: Path) -> None:
    model_dir = write_chat_model(tmp_path / "tiny")
    assert load_without_torch(model_dir, "cpu") == "3 tokens"


def test_the_reference_without_torch_says_what_installs_it(tmp_path: Path) -> None:
    said = load_without_torch(write_chat_model(tmp_path / "tiny"), "reference")
    assert said.startswith("MissingExtraError")
    assert "dev.py install reference" in said


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"intermediate_size": 96}, r"layers\.0\.mlp\.gate_proj has shape \[80, 48\].*\[96, 48\]"),
        ({"num_hidden_layers": 4}, r"layers\.3"),
        ({"vocab_size": 98}, "embed_tokens"),
        ({"mlp_bias": True}, r"layers\.0\.mlp\.gate_proj has a bias .* lacks one"),
    ],
    ids=["shape", "missing", "vocabulary", "bias"],
)
def test_a_config_that_is_not_the_tensors_is_refused(
    tmp_path: Path, config: dict[str, Any], name: str
) -> None:
    model_dir = write_chat_model(tmp_path / "tiny", config=config)
    with pytest.raises(CheckpointError, match=name):
        load_engine(model_dir, "reference")


def test_an_architecture_without_an_adapter_is_refused_by_name(tmp_path: Path) -> None:
    model_dir = write_chat_model(tmp_path / "tiny", config={"architectures": ["GemmaForCausalLM"]})
    with pytest.raises(UnsupportedError, match="GemmaForCausalLM"):
        load_engine(model_dir, "reference")


def test_a_checkpoint_without_a_tokenizer_is_refused(tmp_path: Path) -> None:
    model_dir = write_chat_model(tmp_path / "tiny")
    (model_dir / "tokenizer.json").unlink()
    with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
        load_engine(model_dir, "reference")


def test_a_damaged_weight_file_is_named(tmp_path: Path) -> None:
    model_dir = write_chat_model(tmp_path / "tiny")
    path = model_dir / "layer_01.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"layer_01\.safetensors is damaged"):
        load_engine(model_dir, "reference")


def test_unknown_devices_are_refused(tmp_path: Path) -> None:
    model_dir = write_chat_model(tmp_path / "tiny")
    with pytest.raises(UsageError, match="tpu"):
        load_engine(model_dir, "tpu")


@pytest.mark.parametrize("step", ["LoadedModel", "precision_label", "Engine", "note_use", "Hold"])
def test_what_fails_behind_the_executor_leaves_nothing_open(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The executor first: its memory may be the checkpoint's, which is mapped."""
    closed: list[str] = []
    for kind in (ReferenceExecutor, Checkpoint):
        _note_close(monkeypatch, kind, closed)

    def fail(*_: object, **__: object) -> None:
        raise RecursionError("planted")

    monkeypatch.setattr(f"app.engine.loader.{step}", fail)
    model_dir = write_chat_model(tmp_path / "tiny")
    with pytest.raises(RecursionError, match="planted"):
        load_engine(model_dir, "reference")
    assert closed == ["ReferenceExecutor", "Checkpoint"]
    assert find_purpose(model_dir) == ""


def _note_close(monkeypatch: pytest.MonkeyPatch, kind: type[Any], closed: list[str]) -> None:
    close = kind.close

    def note(self: Any) -> None:
        closed.append(kind.__name__)
        close(self)

    monkeypatch.setattr(kind, "close", note)


def test_an_executor_that_fails_at_its_end_keeps_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a card does whose context is lost: the folder can be removed all the same."""
    model_dir = write_chat_model(tmp_path / "tiny")
    loaded = load_engine(model_dir, "reference")
    assert find_purpose(model_dir) == "loaded"

    def fail() -> None:
        raise EngineError("The card is gone.")

    monkeypatch.setattr(loaded.executor, "close", fail)
    with pytest.raises(EngineError, match="gone"):
        loaded.close()
    assert find_purpose(model_dir) == ""
    monkeypatch.undo()
    loaded.executor.close()

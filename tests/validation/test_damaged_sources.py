"""Damaged files and checkpoints: accounting names the tensors, a text's perplexity the rest."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from app.converter.pipeline import convert
from app.core.validation_events import CheckStatus
from app.spec import registry
from app.validation.check import Outcome
from app.validation.real_weights import check_plausible
from app.validation.recognition import check_recognised
from tests.families.cases import CASES
from tests.family_models import FamilyCase, write_folder
from tests.gguf_factory import unpermute
from tests.validation_tools import create_context, detail, red, report_on, statuses

QWEN3 = next(case for case in CASES if case.name == "qwen3")
LLAMA = next(case for case in CASES if case.name == "llama linear rope")  # tied
# The tiny models' weights are random, and so is what they say of a text.
RANDOM = {"real_plausible"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A dense folder of a tiny Qwen3."""
    return write_folder(QWEN3, tmp_path / "folder")


def _change(folder: Path, **config: object) -> None:
    path = folder / "config.json"
    known = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(known | config), encoding="utf-8")


def _store(folder: Path, tensors: dict[str, np.ndarray]) -> None:
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def test_a_sound_folder_is_accounted_for(folder: Path) -> None:
    report = report_on(folder)
    assert red(report) == RANDOM
    assert "each used once" in detail(report, "weights")
    assert statuses(report)["real_logits"] is CheckStatus.PASS
    assert "read by transformers itself" in detail(report, "real_logits")
    assert statuses(report)["real_greedy"] is CheckStatus.PASS


def test_missing_unexpected_and_mis_shaped_tensors_are_listed_apart(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    del tensors["model.layers.0.self_attn.q_norm.weight"]
    tensors["model.layers.1.self_attn.extra.weight"] = np.ones(4, np.float32)
    tensors["model.norm.weight"] = np.ones(4, np.float32)
    _store(folder, tensors)
    report = report_on(folder)
    assert red(report) == {"weights"}
    assert detail(report, "weights") == (
        "missing: model.layers.0.self_attn.q_norm.weight; "
        "unexpected: model.layers.1.self_attn.extra.weight; "
        "mis-shaped: model.norm.weight [4] instead of [48]."
    )
    check = next(check for check in report.checks if check.name == "weights")
    assert check.metrics == {"missing": 1, "unexpected": 1, "mis-shaped": 1}


def test_a_tied_flag_that_is_wrong(tmp_path: Path) -> None:
    folder = write_folder(LLAMA, tmp_path / "folder")
    _change(folder, tie_word_embeddings=False)
    report = report_on(folder)
    assert red(report) == {"weights"}
    assert detail(report, "weights") == "missing: lm_head.weight."


def test_another_head_dim(folder: Path) -> None:
    _change(folder, head_dim=16)
    report = report_on(folder)
    assert red(report) == {"weights"}
    assert detail(report, "weights").startswith("mis-shaped: ")


def test_no_tokenizer_is_no_model_to_chat_with(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    report = report_on(folder)
    assert red(report) == {"tokenizer"}
    assert "there is no tokenizer.json" in detail(report, "tokenizer")


def test_a_native_checkpoint_of_another_reading(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its norms of q and k belong to nothing, once the family no longer has them."""
    convert(folder, tmp_path / "native", grid="dense")
    assert red(report_on(tmp_path / "native")) == RANDOM
    path, adapter = registry._ADAPTERS["Qwen2ForCausalLM"]
    monkeypatch.setitem(registry._ADAPTERS, "Qwen3ForCausalLM", (path, _as_qwen3(adapter)))
    report = report_on(tmp_path / "native")
    assert "weights" in red(report)
    assert "unexpected: layers.0.self_attn.k_norm" in detail(report, "weights")


def _as_qwen3(adapter: registry.ArchitectureAdapter) -> registry.ArchitectureAdapter:
    from dataclasses import replace

    from app.spec.adapter import no_attention_bias

    return replace(adapter, model_types=("qwen3",), read_attention_bias=no_attention_bias)


def test_a_truncated_file_of_a_native_checkpoint(folder: Path, tmp_path: Path) -> None:
    convert(folder, tmp_path / "native", grid="dense")
    path = tmp_path / "native" / "layer_01.safetensors"
    path.write_bytes(path.read_bytes()[:-16])
    report = report_on(tmp_path / "native")
    assert red(report) == {"weights"}
    assert detail(report, "weights").startswith("layer_01.safetensors has ")


@contextmanager
def _opened_rows(path: Path) -> Iterator[dict[str, np.ndarray]]:
    """The stored rows of every matrix [rows, bytes] by name, written back."""
    reader = gguf.GGUFReader(path, "r+")
    matrices = [tensor for tensor in reader.tensors if len(tensor.shape) == 2]
    yield {
        tensor.name: tensor.data.view(np.uint8).reshape(int(tensor.shape[1]), -1)
        for tensor in matrices
    }
    reader.data.flush()


def _forget_the_order_of_keys(path: Path) -> None:
    """A writer forgot llama.cpp's order; our reader then puts right what was never wrong."""
    with _opened_rows(path) as rows:
        for layer in range(30):
            keys = rows[f"blk.{layer}.attn_k.weight"]
            keys[:] = unpermute(keys.copy(), 3)


@pytest.fixture
def damaged(starter_gguf: Path, tmp_path: Path) -> Path:
    """A copy of the starter's file, to be damaged."""
    return Path(shutil.copyfile(starter_gguf, tmp_path / "model.gguf"))


def _plausible(source: Path, scratch: Path) -> Outcome:
    scratch.mkdir()
    context = create_context(source, scratch)
    with closing(context.subject):
        check_recognised(context)
        return check_plausible(context)


def test_the_starter_reads_the_text(starter_checkpoint: Path, tmp_path: Path) -> None:
    found = _plausible(starter_checkpoint, tmp_path / "scratch")
    assert found.passed, found.detail
    assert float(found.metrics["perplexity"]) < 30


def test_keys_that_nobody_permuted(damaged: Path, tmp_path: Path) -> None:
    _forget_the_order_of_keys(damaged)
    found = _plausible(damaged, tmp_path / "scratch")
    assert found.passed is False
    assert float(found.metrics["perplexity"]) > 100


@pytest.mark.slow
def test_gate_and_up_swapped(damaged: Path, tmp_path: Path) -> None:
    """In the native checkpoint that such a file becomes."""
    with _opened_rows(damaged) as rows:
        for layer in range(30):
            gate, up = (rows[f"blk.{layer}.ffn_{name}.weight"] for name in ("gate", "up"))
            gate[:], up[:] = up.copy(), gate.copy()
    convert(damaged, tmp_path / "native")
    found = _plausible(tmp_path / "native", tmp_path / "scratch")
    assert found.passed is False
    assert float(found.metrics["perplexity"]) > 100


@pytest.mark.slow
def test_only_the_text_tells_of_keys_that_nobody_permuted(damaged: Path) -> None:
    """transformers is given the same weights, and agrees with what is wrong."""
    _forget_the_order_of_keys(damaged)
    assert red(report_on(damaged)) == {"real_plausible"}


@pytest.mark.parametrize("case", [QWEN3, LLAMA], ids=str)
def test_a_native_checkpoint_is_held_to_its_own_weights(case: FamilyCase, tmp_path: Path) -> None:
    convert(write_folder(case, tmp_path / "folder"), tmp_path / "native", grid="w8", group_size=32)
    report = report_on(tmp_path / "native")
    assert red(report) == RANDOM
    assert "weights as we decode" in detail(report, "real_logits")

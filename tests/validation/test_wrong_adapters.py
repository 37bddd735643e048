"""One wrong declaration at a time: the row that is for it turns red, and what follows from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.spec import registry
from app.spec.adapter import no_differences
from app.spec.adapters.gemma import read_gemma
from app.spec.adapters.glm import GLM_NAMES
from app.spec.adapters.phi3 import ADAPTER as PHI3
from tests.validation_tools import (
    SMOKE,
    detail,
    different,
    red,
    report_on,
    write_config,
)

NAMES = "weight names and shapes"
_RUN = {"prefill and decode", "chunked prefill", "key/value cache"}
ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0}}


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Changes the declaration of one architecture."""

    def change(architecture: str, **facts: Any) -> None:
        path, adapter = registry._ADAPTERS[architecture]
        changed = (path, replace(adapter, **facts))
        monkeypatch.setitem(registry._ADAPTERS, architecture, changed)

    return change


def test_without_q_and_k_norms(declare: Any, tmp_path: Path) -> None:
    declare("Qwen3ForCausalLM", read_differences=no_differences)
    report = report_on(write_config(tmp_path, "qwen3", head_dim=32))
    assert different(report) == {"q/k norm", NAMES, *_RUN}
    assert red(report) == {"differences_model", *SMOKE}
    assert "unexpected" in detail(report, "smoke_one_layer")


def test_another_rope_base(declare: Any, tmp_path: Path) -> None:
    declare("LlamaForCausalLM", default_rope_theta=500_000.0)
    folder = write_config(tmp_path, "llama", drop=("rope_parameters", "rope_theta"))
    report = report_on(folder)
    assert different(report) == {"rope", *_RUN}
    assert red(report) == {"differences_model", "rope_tables", *SMOKE}


def test_norms_without_plus_one(declare: Any, tmp_path: Path) -> None:
    declare(
        "GemmaForCausalLM",
        read_differences=lambda config: {**read_gemma(config), "norm_offset": 0.0},
    )
    report = report_on(write_config(tmp_path, "gemma", head_dim=16, **ROPE))
    assert different(report) == {"norm", *_RUN}
    assert red(report) == {"differences_model", *SMOKE}


def test_gate_and_up_swapped(declare: Any, tmp_path: Path) -> None:
    """Both have one shape: only running the network tells."""
    swapped = {"mlp.gate_up_proj": ("mlp.up_proj", "mlp.gate_proj")}
    assert set(swapped) < set(PHI3.weight_names.fused)
    names = replace(PHI3.weight_names, fused={**PHI3.weight_names.fused, **swapped})
    declare("Phi3ForCausalLM", weight_names=names)
    report = report_on(write_config(tmp_path, "phi3", **ROPE))
    assert different(report) == _RUN
    assert red(report) == SMOKE


def test_another_head_dim(declare: Any, tmp_path: Path) -> None:
    declare("Qwen3ForCausalLM", default_head_dim=None)
    report = report_on(write_config(tmp_path, "qwen3", drop=("head_dim",)))
    assert different(report) >= {"head_dim", "attention scale", "rope", NAMES}
    assert red(report) == {"differences_model", "rope_tables", *SMOKE}
    assert "mis-shaped" in detail(report, "smoke_one_layer")


def test_rotary_pairs_in_the_other_order(declare: Any, tmp_path: Path) -> None:
    """Rows of q and k that nobody puts in order."""
    declare("GlmForCausalLM", weight_names=replace(GLM_NAMES, interleaved_rope=False))
    report = report_on(write_config(tmp_path, "glm", head_dim=16))
    assert different(report) == {"rope pairs", *_RUN}
    assert red(report) == {"differences_model", *SMOKE}


def test_an_lm_head_that_is_not_tied(declare: Any, tmp_path: Path) -> None:
    declare("GemmaForCausalLM", default_tie_word_embeddings=False)
    folder = write_config(tmp_path, "gemma", drop=("tie_word_embeddings",), head_dim=16, **ROPE)
    report = report_on(folder)
    assert different(report) == {"tied embeddings", NAMES, *_RUN}
    assert red(report) == {"differences_model", *SMOKE}
    assert "missing lm_head.weight" in detail(report, "smoke_one_layer")


def test_an_lm_head_that_is_tied(declare: Any, tmp_path: Path) -> None:
    """What is stored counts, so that converting such a model would still do right."""
    declare("LlamaForCausalLM", default_tie_word_embeddings=True)
    report = report_on(write_config(tmp_path, "llama", drop=("tie_word_embeddings",), **ROPE))
    assert different(report) == {"tied embeddings", NAMES}
    assert red(report) == {"differences_model"}

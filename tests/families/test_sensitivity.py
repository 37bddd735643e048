"""What the families' cases would catch: one wrong fact of the spec moves the logits visibly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.converter.pipeline import convert
from app.engine.executors.reference import ReferenceExecutor
from app.spec.layer_type import LayerType
from app.spec.model_spec import ModelSpec, NormType, QKNorm
from app.spec.moe_spec import GroupScoring, RouterScoring
from app.spec.registry import create_spec
from app.spec.rope import RopeType
from tests.families.cases import CASES as ALL_CASES
from tests.family_models import NUM_TOKENS, FamilyCase, expected_logits, run, write_folder

VISIBLE = 0.01  # a hundred times what the cases allow
CASES = {case.name: case for case in ALL_CASES}
WRONG_FACTS: dict[str, tuple[str, dict[str, Any]]] = {
    "every layer rotates": ("smollm3", {"rope_layers": ()}),
    "another layer does not rotate": ("smollm3", {"rope_layers": (True, True, False, True, True)}),
    "no window": ("smollm3 window, nope and yarn", {"sliding_window": NUM_TOKENS}),
    "a window of one more": ("smollm3 window, nope and yarn", {"sliding_window": 10}),
    "no norm of q and k": ("olmo2", {"qk_norm": QKNorm.NONE}),
    "full layers slide": ("olmo3", {"layer_types": (LayerType.SLIDING,) * 5}),
    "sliding layers have yarn": ("olmo3", {"sliding_rope": None}),
    "no attention factor": ("olmo3", {"rope": {"attention_factor": 1.0}}),
    "the rope of another length": ("olmo3", {"rope": {"original_max_position_embeddings": 64}}),
    "a whole head rotates": ("glm4", {"rope": {"dim": 16}}),
    "RMS for LayerNorm": ("starcoder2", {"norm_type": NormType.RMS_NORM}),
    "the window of StarCoder2": ("starcoder2 window", {"sliding_window": NUM_TOKENS}),
    "full layers of a hybrid rotate": ("exaone4 hybrid", {"rope_layers": ()}),
    "rope is not scaled": ("exaone4 hybrid", {"rope": {"rope_type": RopeType.DEFAULT}}),
    "rope does not stretch": ("internlm2 dynamic", {"rope": {"rope_type": RopeType.DEFAULT}}),
    "another eps": ("ernie", {"rms_norm_eps": 1e-2}),
    "norms multiply with w": ("gemma", {"norm_offset": 0.0}),
    "embeddings are not scaled": ("gemma", {"embedding_multiplier": 1.0}),
    "the exact GELU": ("gemma", {"hidden_act": "gelu"}),
    "scores are not capped": ("gemma2", {"attn_logit_softcapping": None}),
    "logits are not capped": ("gemma2", {"final_logit_softcapping": None}),
    "a window of one less": ("gemma2", {"sliding_window": 8}),
    "sliding layers have the others' rope": ("gemma3", {"sliding_rope": None}),
    "scores are scaled by head_dim": ("granite", {"attention_multiplier": 12**-0.5}),
    "what blocks add is not scaled": ("granite", {"residual_multiplier": 1.0}),
    "the factors of short sequences": ("phi4 mini", {"rope": {"long_factor": (1.0,) * 6}}),
    "the whole head rotates": ("phi4 mini", {"rope": {"rope_type": RopeType.DEFAULT, "dim": 16}}),
    "no window of Phi-3": ("phi3", {"sliding_window": NUM_TOKENS}),
    "queries do not grow": ("ministral3", {"query_scaling": None}),
    "yarn does not sharpen": ("kimi k2", {"attention_multiplier": 16**-0.5}),
    "yarn's cosines are not scaled": ("deepseek v3 yarn", {"rope": {"attention_factor": 1.0}}),
    "all groups are allowed": ("deepseek v3", {"moe": {"num_groups": 1, "topk_groups": 1}}),
    "groups go by their best": ("deepseek v3", {"moe": {"group_scoring": GroupScoring.MAX}}),
    "groups go by their two best": (
        "deepseek v2",
        {"moe": {"group_scoring": GroupScoring.TOP2_SUM}},
    ),
    "a softmax routes": ("deepseek v3", {"moe": {"scoring": RouterScoring.SOFTMAX}}),
    "weights are not normalized": ("glm 4.7 flash", {"moe": {"norm_topk_prob": False}}),
    "experts are not scaled": ("deepseek v2", {"moe": {"routed_scaling_factor": 1.0}}),
    "heads are not gated": ("qwen3.5", {"attention_output_gate": False}),
    "Qwen3.5's norms multiply with w": ("qwen3.5", {"norm_offset": 0.0}),
    "Qwen3.5's whole heads rotate": ("qwen3.5", {"rope": {"dim": 16}}),
    "the shared expert has no gate": ("qwen3.5 moe", {"moe": {"shared_expert_gate": False}}),
    "Qwen3-Next's weights are not normalized": ("qwen3 next", {"moe": {"norm_topk_prob": False}}),
    "latent norms have the others' eps": ("deepseek v2", {"mla": {"norm_eps": 1e-2}}),
}


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[FamilyCase], Path]:
    """The native folder of a case, made once."""

    @cache
    def convert_once(case: FamilyCase) -> Path:
        root = tmp_path_factory.mktemp("case")
        convert(write_folder(case, root / "folder"), root / "out", grid="dense")
        return root / "out"

    return convert_once


@pytest.mark.parametrize("fact", WRONG_FACTS)
def test_a_wrong_fact_shows(fact: str, converted: Callable[[FamilyCase], Path]) -> None:
    name, changes = WRONG_FACTS[fact]
    case = CASES[name]
    with Checkpoint.open(converted(case)) as checkpoint:
        spec = _change(create_spec(checkpoint.config), changes)
        executor = ReferenceExecutor(checkpoint, spec, NUM_TOKENS)
    difference = np.abs(run(executor, NUM_TOKENS) - expected_logits(case)).max()
    assert difference > VISIBLE


def _change(spec: ModelSpec, changes: dict[str, Any]) -> ModelSpec:
    """A dict changes the fields of a part: `rope`, `moe`, `mla`."""
    parts = {field: value for field, value in changes.items() if isinstance(value, dict)}
    changed = {field: replace(getattr(spec, field), **value) for field, value in parts.items()}
    return replace(spec, **{**changes, **changed})

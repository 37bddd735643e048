"""How tokens find their experts: ties, and every option of the spec, in both executors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.converter.pipeline import convert
from app.engine.executors.reference.mlp import MixtureOfExperts, create_expert
from app.engine.executors.reference.modules import Linear, Tensor
from app.spec.moe_spec import GroupScoring, MoeSpec, RouterScoring
from tests.family_models import cpu_logits, reference_logits
from tests.moe_folders import MIXTRAL, NUM_EXPERTS, QWEN3_MOE, random_tensors, write_folder
from tests.quantized_folders import Arrays

_HIDDEN = 8


def tensor(values: Any) -> Tensor:
    """float32."""
    import torch

    return torch.from_numpy(np.array(values, np.float32))


def mixture(spec: MoeSpec, router: Tensor, correction: Tensor | None = None) -> MixtureOfExperts:
    """Experts of which number e answers any x with a constant vector of e + 1."""
    zeros = tensor(np.zeros((_HIDDEN, _HIDDEN)))
    experts = [
        create_expert(
            spec,
            Linear(zeros),
            Linear(zeros),
            Linear(zeros, tensor([expert + 1] * _HIDDEN)),
            "silu",
        )
        for expert in range(spec.num_experts)
    ]
    return MixtureOfExperts(spec, Linear(router), correction, experts, None, None)


def moe_spec(num_experts: int = 4, num_experts_per_tok: int = 2, **changes: Any) -> MoeSpec:
    return MoeSpec(num_experts, num_experts_per_tok, _HIDDEN, (True,), **changes)


def answer(spec: MoeSpec, logits: list[float], correction: list[float] | None = None) -> float:
    """The sum of (expert + 1) * weight of one token whose router says `logits`."""
    first_column = np.eye(_HIDDEN)[:1]
    router = tensor(np.array(logits)[:, None] * first_column)
    added = None if correction is None else tensor(correction)
    out = mixture(spec, router, added)(tensor(first_column))
    assert (out == out[0, 0]).all()
    return float(out[0, 0])


def softmax(values: list[float]) -> list[float]:
    powers = np.exp(np.array(values) - max(values))
    return list(powers / powers.sum())


_LOGITS = [0.5, 2.0, -1.0, 1.0]  # experts 1 and 3 are the best
_SIGMOIDS = [1 / (1 + np.exp(-value)) for value in _LOGITS]


def test_softmax_over_all() -> None:
    p = softmax(_LOGITS)
    assert answer(moe_spec(), _LOGITS) == pytest.approx(2 * p[1] + 4 * p[3])


def test_softmax_over_all_normalized() -> None:
    p = softmax(_LOGITS)
    wanted = (2 * p[1] + 4 * p[3]) / (p[1] + p[3])
    assert answer(moe_spec(norm_topk_prob=True), _LOGITS) == pytest.approx(wanted)


def test_softmax_over_the_chosen() -> None:
    p = softmax([_LOGITS[1], _LOGITS[3]])
    spec = moe_spec(scoring=RouterScoring.SOFTMAX_TOPK)
    assert answer(spec, _LOGITS) == pytest.approx(2 * p[0] + 4 * p[1])


def test_sigmoid_scaled() -> None:
    spec = moe_spec(scoring=RouterScoring.SIGMOID, routed_scaling_factor=2.5)
    wanted = 2.5 * (2 * _SIGMOIDS[1] + 4 * _SIGMOIDS[3])
    assert answer(spec, _LOGITS) == pytest.approx(wanted)


def test_the_correction_chooses_but_does_not_weigh() -> None:
    spec = moe_spec(scoring=RouterScoring.SIGMOID, score_correction_bias=True)
    wanted = 2 * _SIGMOIDS[1] + 3 * _SIGMOIDS[2]
    assert answer(spec, _LOGITS, [0.0, 0.0, 5.0, 0.0]) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("group_scoring", "chosen"), [(GroupScoring.MAX, (1, 0)), (GroupScoring.TOP2_SUM, (3, 2))]
)
def test_only_experts_of_the_best_group(
    group_scoring: GroupScoring, chosen: tuple[int, int]
) -> None:
    """The first group has the best expert, the second the better pair."""
    logits = [-3.0, 2.0, 1.0, 1.5]
    spec = moe_spec(
        scoring=RouterScoring.SIGMOID, num_groups=2, topk_groups=1, group_scoring=group_scoring
    )
    wanted = sum((expert + 1) / (1 + np.exp(-logits[expert])) for expert in chosen)
    assert answer(spec, logits) == pytest.approx(wanted)


def test_of_equal_scores_the_first_expert_is_taken() -> None:
    p = softmax([1.0, 1.0, 1.0, 1.0])
    assert answer(moe_spec(), [1.0, 1.0, 1.0, 1.0]) == pytest.approx(1 * p[0] + 2 * p[1])
    p = softmax([0.0, 1.0, 0.0, 0.0])
    assert answer(moe_spec(), [0.0, 1.0, 0.0, 0.0]) == pytest.approx(2 * p[1] + 1 * p[0])


def with_tied_experts(config: Mapping[str, Any]) -> Arrays:
    """Experts of different weights, all of which the router likes equally."""
    tensors = random_tensors(config)
    for name in tensors:
        if name.endswith("gate.weight") and "experts" not in name:
            tensors[name][1:] = tensors[name][0]
    return tensors


@pytest.mark.parametrize("config", [MIXTRAL, QWEN3_MOE], ids=["mixtral", "qwen3_moe"])
def test_executors_agree_about_ties(config: dict[str, Any], tmp_path: Path) -> None:
    """The same two experts of four for every token; and others would say something else."""
    tensors = with_tied_experts(config)
    folder = write_folder(tmp_path / "hf", config, tensors)
    convert(folder, tmp_path / "out", grid="dense")
    want = reference_logits(tmp_path / "out")
    np.testing.assert_allclose(cpu_logits(tmp_path / "out"), want, rtol=0, atol=1e-4)
    np.testing.assert_allclose(cpu_logits(tmp_path / "out", 1), want, rtol=0, atol=1e-4)
    last = {n: t for n, t in tensors.items() if f"experts.{NUM_EXPERTS - 1}." in n}
    for name in last:
        tensors[name] = np.zeros_like(tensors[name])
    convert(write_folder(tmp_path / "zero", config, tensors), tmp_path / "out2", grid="dense")
    np.testing.assert_array_equal(reference_logits(tmp_path / "out2"), want)


@pytest.mark.parametrize("num_chosen", [1, NUM_EXPERTS])
def test_one_expert_and_all_of_them(num_chosen: int, tmp_path: Path) -> None:
    config = {**QWEN3_MOE, "num_experts_per_tok": num_chosen}
    folder = write_folder(tmp_path / "hf", config, random_tensors(config))
    convert(folder, tmp_path / "out", grid="dense")
    want = reference_logits(tmp_path / "out")
    for size in (60, 7, 1):
        np.testing.assert_allclose(cpu_logits(tmp_path / "out", size), want, rtol=0, atol=1e-4)

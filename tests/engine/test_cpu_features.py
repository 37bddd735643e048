"""Every variation of ModelSpec on the cpu executor against the reference, alone and combined."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.spec.layer_type import LayerType
from app.spec.mla_spec import MlaSpec
from app.spec.model_spec import (
    AttentionBias,
    MlpType,
    ModelSpec,
    NormPlacement,
    NormType,
    QKNorm,
    QueryScaling,
)
from app.spec.moe_spec import ExpertAct, GroupScoring, MoeSpec, RouterScoring
from app.spec.registry import create_spec
from app.spec.rope import RopeSpec, RopeType
from tests.random_checkpoints import write_random
from tests.tiny_models import BASE

TOLERANCE = 1e-4  # relative L2 over all logits; both sum in float32
INT8_TOLERANCE = 0.1  # one linear errs by 0.01; norms on the output of random blocks amplify it
NUM_TOKENS = 60
TOKENS = np.random.default_rng(5).integers(3, 97, NUM_TOKENS).astype(np.int32)
CONFIG = {
    **BASE,
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "rope_theta": 1e4,
    "hidden_act": "silu",
    "head_dim": 16,
}
SPEC = create_spec(CONFIG)
SLIDING, FULL = LayerType.SLIDING, LayerType.FULL
ALL_BIASES: dict[str, Any] = {
    "attention_bias": AttentionBias(q=True, k=True, v=True, o=True),
    "mlp_bias": True,
}
YARN = RopeSpec(16, RopeType.YARN, 1e3, 4.0, 32)
MOE = MoeSpec(8, 2, 40, (True, True, True))
DEEPSEEK = MoeSpec(
    12,
    4,
    40,
    (False, True, True),
    scoring=RouterScoring.SIGMOID,
    norm_topk_prob=True,
    routed_scaling_factor=2.5,
    num_groups=4,
    topk_groups=2,
    group_scoring=GroupScoring.TOP2_SUM,
    score_correction_bias=True,
    shared_intermediate_size=72,
)
GPT_OSS = MoeSpec(
    8,
    3,
    40,
    (True, True, True),
    scoring=RouterScoring.SOFTMAX_TOPK,
    router_bias=True,
    expert_act=ExpertAct.CLAMPED_SWIGLU,
    expert_bias=True,
    swiglu_limit=0.7,
)
SHARED = replace(MOE, norm_topk_prob=True, shared_intermediate_size=56, shared_expert_gate=True)

LATENT: dict[str, Any] = {
    "mla": MlaSpec(36, 10, 6, 12, q_lora_rank=28),
    "num_key_value_heads": 4,
    "rope": RopeSpec(6, theta=500.0),
}

FEATURES: dict[str, dict[str, Any]] = {
    "plain": {},
    "biases": ALL_BIASES,
    "layer_norm": {"norm_type": NormType.LAYER_NORM},
    "layer_norm_bias": {"norm_type": NormType.LAYER_NORM, "norm_bias": True},
    "norm_offset": {"norm_offset": 1.0},
    "post_norms": {"norm_placement": NormPlacement.POST},
    "sandwich_norms": {"norm_placement": NormPlacement.SANDWICH},
    "qk_norm_head": {"qk_norm": QKNorm.HEAD},
    "qk_norm_projection": {"qk_norm": QKNorm.PROJECTION},
    "no_rope_in_one_layer": {"rope_layers": (True, False, True)},
    "rope_per_layer_type": {
        "sliding_rope": YARN,
        "layer_types": (SLIDING, FULL, SLIDING),
        "sliding_window": 7,
    },
    "partial_rotary": {"rope": RopeSpec(8, theta=500.0)},
    "attention_multiplier": {"attention_multiplier": 0.7},
    "attn_logit_softcapping": {"attn_logit_softcapping": 0.4},
    "final_logit_softcapping": {"final_logit_softcapping": 0.5},
    "attention_sinks": {"attention_sinks": True},
    "query_scaling": {"query_scaling": QueryScaling(0.4, 16)},
    "attention_output_gate": {"attention_output_gate": True},
    "embedding_multiplier": {"embedding_multiplier": 6.9},
    "residual_multiplier": {"residual_multiplier": 0.22},
    "logits_multiplier": {"logits_multiplier": 0.125},
    "gelu": {"hidden_act": "gelu"},
    "gelu_pytorch_tanh": {"hidden_act": "gelu_pytorch_tanh"},
    "plain_mlp": {"mlp_type": MlpType.PLAIN, "hidden_act": "gelu"},
    "moe_softmax": {"moe": MOE},
    "moe_normed": {"moe": replace(MOE, norm_topk_prob=True, num_experts_per_tok=5)},
    "moe_max_groups": {"moe": replace(MOE, num_groups=4, topk_groups=2)},
    "moe_shared_expert_gate": {"moe": SHARED},
    "moe_deepseek": {"moe": DEEPSEEK},
    "moe_gpt_oss": {"moe": GPT_OSS},
    "moe_plain": {"moe": MOE, "mlp_type": MlpType.PLAIN, "hidden_act": "gelu"},
    "latent_attention": LATENT,
    "latent_plain_queries": {
        **LATENT,
        "mla": replace(LATENT["mla"], q_lora_rank=None, v_head_dim=24),
        "rope": replace(YARN, dim=6),
    },
    "deepseek_v3": {**LATENT, "moe": DEEPSEEK, "attention_multiplier": 0.4},
    # Families, each with all that it varies.
    "gemma2": {
        "norm_offset": 1.0,
        "norm_placement": NormPlacement.SANDWICH,
        "hidden_act": "gelu_pytorch_tanh",
        "attention_multiplier": 0.2,
        "attn_logit_softcapping": 0.5,
        "final_logit_softcapping": 0.4,
        "embedding_multiplier": 48**0.5,
        "layer_types": (SLIDING, FULL, SLIDING),
        "sliding_window": 9,
        "tie_word_embeddings": True,
    },
    "gemma3": {
        "norm_offset": 1.0,
        "norm_placement": NormPlacement.SANDWICH,
        "qk_norm": QKNorm.HEAD,
        "sliding_rope": RopeSpec(16, theta=100.0),
        "layer_types": (SLIDING, SLIDING, FULL),
        "sliding_window": 9,
    },
    "olmo2": {"norm_placement": NormPlacement.POST, "qk_norm": QKNorm.PROJECTION},
    "starcoder2": {
        **ALL_BIASES,
        "norm_type": NormType.LAYER_NORM,
        "norm_bias": True,
        "mlp_type": MlpType.PLAIN,
        "hidden_act": "gelu_pytorch_tanh",
    },
    "granite": {
        "attention_multiplier": 0.05,
        "embedding_multiplier": 12.0,
        "residual_multiplier": 0.22,
        "logits_multiplier": 1 / 8,
    },
    "glm4": {
        "norm_placement": NormPlacement.SANDWICH,
        "rope": RopeSpec(8),
        "attention_bias": AttentionBias(q=True, k=True, v=True),
    },
    "gpt_oss": {
        **ALL_BIASES,
        "rope": YARN,
        "layer_types": (SLIDING, FULL, SLIDING),
        "sliding_window": 8,
        "attention_sinks": True,
        "moe": GPT_OSS,
    },
    "gated_moe": {
        "attention_output_gate": True,
        "qk_norm": QKNorm.HEAD,
        "norm_offset": 1.0,
        "rope": RopeSpec(4),
        "moe": SHARED,
        "norm_placement": NormPlacement.SANDWICH,
        "residual_multiplier": 0.5,
    },
}
QUANTS = [
    QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.FP16),
    QuantScheme(4, 32, Scheme.ZERO, ScaleDtype.FP16),
    QuantScheme(8, 16, Scheme.SYM, ScaleDtype.TWO_LEVEL),
]


def spec_of(feature: str) -> ModelSpec:
    """The tiny Llama with a feature's fields."""
    return replace(SPEC, **FEATURES[feature]).validate()


def create(kind: type[Executor], directory: Path, spec: ModelSpec, **options: Any) -> Any:
    """An executor of a folder for two sequences."""
    with Checkpoint.open(directory) as checkpoint:
        return kind(checkpoint, spec, 256, 2, **options)


def run(executor: Executor, tokens: npt.NDArray[np.int32], size: int) -> npt.NDArray[np.float32]:
    """All logits, the prompt in pieces of `size`."""
    pieces = [
        executor.step([SequenceChunk(0, i, tokens[i : i + size], LogitsWanted.ALL)])[0]
        for i in range(0, len(tokens), size)
    ]
    return np.concatenate(pieces)


def run_pair(executor: Executor, size: int) -> npt.NDArray[np.float32]:
    """The logits of TOKENS, beside another sequence that runs in the same steps."""
    other, pieces = TOKENS[::-1].copy(), []
    for i in range(0, NUM_TOKENS, size):
        chunks = [SequenceChunk(1, i, other[i : i + 3]), SequenceChunk(0, i, TOKENS[i : i + size])]
        chunks[1] = replace(chunks[1], logits=LogitsWanted.ALL)
        pieces.append(executor.step(chunks)[1])
    return np.concatenate(pieces)


def relative_error(got: npt.NDArray[np.float32], want: npt.NDArray[np.float32]) -> float:
    """||got - want|| / ||want||."""
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


@pytest.mark.parametrize("feature", FEATURES)
def test_dense_weights_equal_the_reference(feature: str, tmp_path: Path) -> None:
    spec = spec_of(feature)
    directory = write_random(spec, CONFIG, tmp_path / "model")
    want = run(create(ReferenceExecutor, directory, spec), TOKENS, NUM_TOKENS)
    executor = create(CpuExecutor, directory, spec, kv_dtype="fp32")
    for size in (NUM_TOKENS, 13, 1):
        assert relative_error(run(executor, TOKENS, size), want) < TOLERANCE
    for size in (20, 3):
        assert relative_error(run_pair(executor, size), want) < TOLERANCE
    executor.close()


@pytest.fixture(scope="module")
def plain_logits(tmp_path_factory: pytest.TempPathFactory) -> npt.NDArray[np.float32]:
    """The logits of a Llama without features."""
    directory = write_random(SPEC, CONFIG, tmp_path_factory.mktemp("plain") / "model")
    return run(create(ReferenceExecutor, directory, SPEC), TOKENS, NUM_TOKENS)


@pytest.mark.parametrize("feature", [name for name in FEATURES if name != "plain"])
def test_the_feature_changes_the_logits(
    feature: str, plain_logits: npt.NDArray[np.float32], tmp_path: Path
) -> None:
    """Otherwise the comparison above would prove nothing of it."""
    spec = spec_of(feature)
    directory = write_random(spec, CONFIG, tmp_path / "model")
    executor = create(CpuExecutor, directory, spec)
    assert relative_error(run(executor, TOKENS, NUM_TOKENS), plain_logits) > 0.01
    executor.close()


@pytest.mark.parametrize(
    ("feature", "quant"),
    list(zip(FEATURES, itertools.cycle(QUANTS), strict=False)),
    ids=lambda value: value if isinstance(value, str) else value.label,
)
def test_quantized_weights_equal_the_reference(
    feature: str, quant: QuantScheme, tmp_path: Path
) -> None:
    """With permuted columns in every linear of a layer."""
    spec = spec_of(feature)
    directory = write_random(spec, CONFIG, tmp_path / "model", quant)
    want = run(create(ReferenceExecutor, directory, spec), TOKENS, NUM_TOKENS)
    executor = create(CpuExecutor, directory, spec, kv_dtype="fp32")
    for size in (NUM_TOKENS, 1):
        assert relative_error(run(executor, TOKENS, size), want) < TOLERANCE
    executor.close()


@pytest.mark.parametrize("feature", FEATURES)
def test_int8_activations_stay_close(feature: str, tmp_path: Path) -> None:
    """A rounded score may choose another expert, so of experts it is the median row that counts."""
    spec = spec_of(feature)
    directory = write_random(spec, CONFIG, tmp_path / "model", QUANTS[0])
    want = run(create(ReferenceExecutor, directory, spec), TOKENS, NUM_TOKENS)
    executor = create(CpuExecutor, directory, spec, activations="int8")
    whole, single = (run(executor, TOKENS, size) for size in (NUM_TOKENS, 1))
    executor.close()
    errors = np.linalg.norm(whole - want, axis=1) / np.linalg.norm(want, axis=1)
    assert np.median(errors) < INT8_TOLERANCE
    np.testing.assert_allclose(np.median(np.abs(whole - single)), 0, atol=1e-4)

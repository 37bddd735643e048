"""router.cu, stacks of gemv.cu and experts.cu against float64: chosen, visited and added up."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from kernels import reference
from kernels.cuda.build import SOURCE_DIR
from kernels.cuda.experts import (
    EXPERT_SUM_ARGS,
    MAX_EXPERTS,
    ROUTER_ARGS,
    ROUTER_ROWS,
    ROUTER_THREADS,
    SUM_THREADS,
    RouterWeight,
    choice_shared_bytes,
    max_visits,
    score_shared_bytes,
)
from kernels.cuda.gemv import Activation, Epilogue, GemvVariant, Input, Scheme, ValueType
from kernels.cuda.pack import TILE_ROWS
from tests.kernels.cuda_host import Schedule, build_host_module
from tests.kernels.cuda_matrices import (
    Launcher,
    Matrix,
    activations,
    create_matrix,
    module_of,
    relative_error,
)
from tests.kernels.experts import GROUP_SCORINGS, SCORINGS, Experts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

HIDDEN = 72
EPS = 1e-5
ROUTERS = {
    "softmax": Experts(),
    "normed": Experts(norm_topk_prob=True, num_experts_per_tok=3),
    "of the best": Experts(scoring="softmax_topk", num_experts_per_tok=4),
    "sigmoid": Experts(scoring="sigmoid", has_correction=True, routed_scaling_factor=2.5),
    "groups by the best": Experts(num_experts=12, num_groups=4, topk_groups=2),
    "groups by two": Experts(
        num_experts=40,
        num_experts_per_tok=6,
        num_groups=8,
        topk_groups=3,
        group_scoring="top2_sum",
        scoring="sigmoid",
        has_correction=True,
        norm_topk_prob=True,
    ),
    "a gate of the shared expert": Experts(shared_size=8, has_shared_gate=True),
    "many": Experts(num_experts=130, num_experts_per_tok=8, norm_topk_prob=True),
}


def router_inputs(experts: Experts, num_tokens: int) -> dict[str, npt.NDArray[Any]]:
    """A random router and what it routes."""
    rng = np.random.default_rng(len(experts.scoring) + experts.num_experts)

    def floats(*shape: int) -> npt.NDArray[np.float32]:
        return rng.standard_normal(shape).astype(np.float32)

    rows = experts.num_experts + experts.has_shared_gate
    arrays = {
        "x": 3 * floats(num_tokens, HIDDEN),
        "norm_weight": 1 + 0.1 * floats(HIDDEN),
        "weight": 0.2 * floats(rows, HIDDEN),
        "bias": 0.1 * floats(experts.num_experts),
    }
    if experts.has_correction:
        arrays["correction"] = 0.1 * floats(experts.num_experts)
    return arrays


def route(
    experts: Experts, arrays: dict[str, npt.NDArray[Any]], **options: Any
) -> dict[str, npt.NDArray[Any]]:
    """What the kernel writes."""
    num_tokens, top_k = len(arrays["x"]), experts.num_experts_per_tok
    rows = len(arrays["weight"])
    visits = max_visits(num_tokens, top_k, experts.num_experts)
    out = {
        "logits": np.full((num_tokens, rows), np.nan, np.float32),
        "visit_matrices": np.full(visits, -7, np.int32),
        "visit_pairs": np.full((visits, 8), -7, np.int32),
        "chosen": np.full((num_tokens, top_k), -7, np.int32),
        "pair_weights": np.full((num_tokens, top_k), np.nan, np.float32),
        "shared_weights": np.full(num_tokens, np.nan, np.float32),
    }
    fields = {
        **arrays,
        **out,
        "num_tokens": num_tokens,
        "hidden_size": HIDDEN,
        "num_experts": experts.num_experts,
        "has_shared_gate": int(experts.has_shared_gate),
        "top_k": top_k,
        "max_visits": visits,
        "input": Input.RMS_NORM,
        "weight_type": options.pop("weight_type", RouterWeight.FLOAT32),
        "scoring": SCORINGS[experts.scoring],
        "is_normed": int(experts.norm_topk_prob),
        "num_groups": experts.num_groups,
        "topk_groups": experts.topk_groups,
        "group_scoring": GROUP_SCORINGS[experts.group_scoring],
        "eps": EPS,
        "scaling_factor": experts.routed_scaling_factor,
    }
    module = build_host_module(SOURCE_DIR / "router.cu")
    scores = (-(-rows // ROUTER_ROWS), num_tokens), ROUTER_THREADS, score_shared_bytes(HIDDEN)
    choices = (-(-num_tokens // 8),), ROUTER_THREADS, choice_shared_bytes(experts.num_experts)
    launches: dict[str, Any] = {"score_experts": scores, "choose_experts": choices}
    if num_tokens > 8:
        listing = (1,), MAX_EXPERTS, 0
        launches = {
            "score_experts": scores,
            "choose_for_chunk": choices,
            "list_chunk_visits": listing,
        }
    for kernel, (grid, threads, shared_bytes) in launches.items():
        module.launch_struct(
            kernel, grid, (threads,), ROUTER_ARGS, fields, shared_bytes=shared_bytes, **options
        )
    return out


def chosen_of(out: dict[str, npt.NDArray[Any]], top_k: int) -> list[dict[int, float]]:
    """Per token its experts and their weights, read from the visits."""
    weights = out["pair_weights"].reshape(-1)
    tokens: list[dict[int, float]] = [{} for _ in out["pair_weights"]]
    for expert, pairs in zip(out["visit_matrices"], out["visit_pairs"], strict=True):
        for pair in pairs[pairs >= 0] if expert >= 0 else []:
            tokens[pair // top_k][int(expert)] = float(weights[pair])
    return tokens


def expected_choice(
    experts: Experts, arrays: dict[str, npt.NDArray[Any]]
) -> tuple[list[dict[int, float]], npt.NDArray[np.float64]]:
    x = arrays["x"].astype(np.float64)
    normed = x / np.sqrt((x**2).mean(1, keepdims=True) + EPS) * arrays["norm_weight"]
    logits = normed @ arrays["weight"].astype(np.float64).T
    routed = logits[:, : experts.num_experts] + arrays["bias"]
    found = [experts._weights(row, arrays.get("correction", 0)) for row in routed]
    gates = reference.sigmoid(logits[:, -1]) if experts.has_shared_gate else np.ones(len(x))
    return found, gates


@pytest.mark.parametrize("num_tokens", [1, 5, 19])
@pytest.mark.parametrize("name", ROUTERS)
def test_the_router_chooses_and_weighs_as_float64(name: str, num_tokens: int) -> None:
    experts = ROUTERS[name]
    arrays = router_inputs(experts, num_tokens)
    wanted, gates = expected_choice(experts, arrays)
    for schedule in Schedule:
        is_reversed = schedule is Schedule.REVERSE
        out = route(experts, arrays, schedule=schedule, reverse_blocks=is_reversed)
        found = chosen_of(out, experts.num_experts_per_tok)
        for mine, theirs in zip(found, wanted, strict=True):
            assert mine.keys() == theirs.keys()
            assert np.allclose([mine[e] for e in theirs], list(theirs.values()), rtol=1e-4)
        assert np.allclose(out["shared_weights"], gates, rtol=1e-5)


def test_each_expert_is_visited_once() -> None:
    experts = ROUTERS["normed"]
    out = route(experts, router_inputs(experts, 8))
    visited = out["visit_matrices"]
    used = visited[visited >= 0]
    assert len(used) == len(set(used.tolist()))
    assert (visited[len(used) :] == -1).all()
    pairs = out["visit_pairs"][: len(used)]
    assert sorted(pairs[pairs >= 0].tolist()) == list(range(8 * 3))


def test_an_expert_of_many_tokens_is_visited_for_eight_at_a_time() -> None:
    experts = Experts(num_experts=4, num_experts_per_tok=2)
    out = route(experts, router_inputs(experts, 40))
    visited = out["visit_matrices"]
    used = visited[visited >= 0]
    assert (np.diff(used) >= 0).all()
    assert (visited[len(used) :] == -1).all()
    pairs = out["visit_pairs"][: len(used)]
    assert sorted(pairs[pairs >= 0].tolist()) == list(range(40 * 2))
    counts = np.bincount(used, (pairs >= 0).sum(1), minlength=4).astype(int)
    assert np.array_equal(np.bincount(used, minlength=4), -(-counts // 8))


def test_of_equal_scores_the_first_expert_is_taken() -> None:
    experts = Experts(num_experts=64, num_experts_per_tok=3)
    arrays = router_inputs(experts, 2)
    arrays["weight"][:] = arrays["weight"][0]
    arrays["bias"][:] = 0
    assert [list(token) for token in chosen_of(route(experts, arrays), 3)] == [[0, 1, 2]] * 2


def test_of_no_numbers_any_experts_are_taken_and_nothing_is_hidden() -> None:
    experts = ROUTERS["normed"]
    arrays = router_inputs(experts, 2)
    arrays["x"][0, 3] = np.nan
    out = route(experts, arrays)
    assert np.isnan(out["pair_weights"][0]).all()
    assert np.isfinite(out["pair_weights"][1]).all()


@pytest.mark.parametrize("kind", [RouterWeight.FLOAT16, RouterWeight.BFLOAT16])
def test_a_router_of_halfs_is_read_as_it_is_stored(kind: RouterWeight) -> None:
    experts = ROUTERS["softmax"]
    arrays = router_inputs(experts, 1)
    bits = arrays["weight"].view(np.uint32) & 0xFFFF0000
    if kind is RouterWeight.BFLOAT16:
        stored, exact = (bits >> 16).astype(np.uint16), bits.view(np.float32)
    else:
        stored = arrays["weight"].astype(np.float16)
        exact = stored.astype(np.float32)
    found = route(experts, {**arrays, "weight": stored}, weight_type=kind)
    wanted = route(experts, {**arrays, "weight": exact})
    assert np.array_equal(found["logits"], wanted["logits"])


def create_stack(variant: GemvVariant, shape: tuple[int, int], group: int, count: int) -> Any:
    """Matrices one after the other, each padded to whole tiles."""
    matrices = [create_matrix(variant, shape, group, seed) for seed in range(count)]
    arrays = {
        name: np.concatenate([matrix.arrays[name] for matrix in matrices])
        for name in matrices[0].arrays
    }
    joined = Matrix(replace(variant, is_stack=True), shape, group, arrays)
    return joined, np.stack([matrix.weight for matrix in matrices])


U8 = ValueType.TWO_LEVEL_U8
STACKS = {
    "w4": (GemvVariant(4, group=64), 64),
    "w4-affine-two-level": (GemvVariant(4, Scheme.AFFINE, 32, U8, U8), 32),
    "w3": (GemvVariant(3), 128),
    "w8-zero": (GemvVariant(8, Scheme.ZERO, 32), 32),
    "dense": (GemvVariant(16), -1),
}
# Of five tokens that take two experts each: expert 3 for tokens 0 and 4, nobody, expert 0 for all
# but token 0, expert 9 that stands elsewhere.
VISITS = np.array([3, -1, 0, 9], np.int32)
PAIRS = np.full((4, 8), -1, np.int32)
PAIRS[0, :2] = 0, 9
PAIRS[2, :4] = 2, 4, 6, 8
PAIRS[3, :1] = 1
PLACES = np.array([2, -1, -1, 1, -1, -1, -1, -1, -1, -1], np.int32)


def run_stack(stack: Matrix, x: npt.NDArray[Any], out: npt.NDArray[Any], **fields: Any) -> Launcher:
    options = {name: fields.pop(name) for name in ("schedule",) if name in fields}
    launcher = Launcher(stack, 5, **fields)
    launcher.arrays |= {
        "x": x,
        "out": out,
        "visit_matrices": VISITS,
        "visit_pairs": PAIRS,
        "matrix_places": PLACES,
    }
    launcher.arrays |= {name: fields[name] for name in ("perm", "bias") if name in fields}
    launcher.run(module_of(stack.variant), grid_rows=len(VISITS), **options)
    return launcher


@pytest.mark.parametrize("name", STACKS)
def test_a_stack_multiplies_each_pair_with_its_own_matrix(name: str) -> None:
    variant, group = STACKS[name]
    stack, weights = create_stack(replace(variant, tokens=8), (40, 200), group, 3)
    rng = np.random.default_rng(2)
    x = activations(5, 200)
    bias = rng.standard_normal((3, 40)).astype(np.float32)
    perm = np.stack([rng.permutation(200) for _ in range(3)]).astype(np.int32)
    for schedule in Schedule:
        out = np.full((10, 40), -1, np.float16)
        run_stack(stack, x, out, pairs_per_row=2, bias=bias, perm=perm, schedule=schedule)
        wanted = np.full((10, 40), -1.0)
        for visit, place in ((0, 1), (2, 2)):
            for pair in PAIRS[visit][PAIRS[visit] >= 0]:
                row = x[pair // 2].astype(np.float64)[perm[place]]
                wanted[pair] = weights[place] @ row + bias[place]
        assert relative_error(out, wanted) <= 1e-3


def test_a_visit_of_one_reads_its_row_alone() -> None:
    stack, weights = create_stack(GemvVariant(4, group=64), (40, 200), 64, 3)
    x, out = activations(10, 200), np.zeros((10, 40), np.float16)
    single = PAIRS.copy()
    single[:, 1:] = -1
    launcher = Launcher(stack, 1, pairs_per_row=1)
    launcher.arrays |= {"x": x, "out": out, "visit_matrices": VISITS, "visit_pairs": single}
    launcher.arrays["matrix_places"] = PLACES
    launcher.run(module_of(stack.variant), grid_rows=4)
    wanted = np.zeros((10, 40))
    wanted[0], wanted[2] = (
        weights[place] @ x[pair].astype(np.float64) for place, pair in ((1, 0), (2, 2))
    )
    assert relative_error(out, wanted) <= 1e-3


def test_gates_may_be_clamped() -> None:
    stack, weights = create_stack(GemvVariant(4, group=64, tokens=8), (2 * TILE_ROWS, 128), 64, 3)
    x, out = 3 * activations(5, 128), np.zeros((10, TILE_ROWS), np.float16)
    fields = {"swiglu_limit": 1.5, "swiglu_alpha": 1.702, "pairs_per_row": 2}
    activation = {"epilogue": Epilogue.GATE, "activation": Activation.CLAMPED_SWIGLU}
    run_stack(stack, x, out, out_stride=TILE_ROWS, **fields, **activation)
    y = (weights[2] @ x[1].astype(np.float64)).reshape(2, 2, 8)
    gate, up = np.minimum(y[:, 0].reshape(-1), 1.5), np.clip(y[:, 1].reshape(-1), -1.5, 1.5)
    assert relative_error(out[2], (up + 1) * gate * reference.sigmoid(1.702 * gate)) <= 1e-3


@pytest.mark.parametrize("is_added", [0, 1])
@pytest.mark.parametrize("has_shared", [False, True])
def test_the_experts_add_up(is_added: int, has_shared: bool) -> None:
    rng = np.random.default_rng(7)
    size, top_k = 300, 3
    outputs = rng.standard_normal((2, top_k, size)).astype(np.float32)
    weights = rng.random((2, top_k)).astype(np.float32)
    shared, gates = rng.standard_normal((2, size)).astype(np.float32), np.float32([0.3, 0.9])
    out = rng.standard_normal((2, size)).astype(np.float32)
    wanted = np.einsum("tk,tkn->tn", weights.astype(np.float64), outputs)
    wanted = wanted + (gates[:, None] * shared if has_shared else 0)
    wanted = 0.22 * wanted + (out if is_added else 0)
    fields = {
        "outputs": outputs,
        "weights": weights,
        "out": out,
        "size": size,
        "top_k": top_k,
        "is_added": is_added,
        "multiplier": 0.22,
        **({"shared": shared, "shared_weights": gates} if has_shared else {}),
    }
    build_host_module(SOURCE_DIR / "experts.cu").launch_struct(
        "add_experts", (-(-size // SUM_THREADS), 2), (SUM_THREADS,), EXPERT_SUM_ARGS, fields
    )
    assert relative_error(out, wanted) <= 1e-6

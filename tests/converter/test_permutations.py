"""Act-order: fewer permutations, the same weights, the same function."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.layout import check_linear
from app.checkpoint.manifest import LinearRecord, Provenance
from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize, quantized_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme, TensorPath
from app.checkpoint.writer import PartLinear
from app.converter.permutations import normalize, settle_permutations
from app.converter.pipeline import convert
from app.converter.report import outcome_notes
from app.engine.executors.base import LogitsWanted, SequenceChunk
from app.engine.executors.reference import ReferenceExecutor
from app.spec.registry import create_spec
from tests.converter.gptq_folder import create_folder

Floats = npt.NDArray[np.float32]
Perm = npt.NDArray[np.int32]
ORIGIN = Provenance("a", "GPTQ", TensorPath.EXACT, 0.0)


def random_linear(
    shape: tuple[int, int],
    perm: Perm | None,
    *,
    bits: int = 4,
    group: int = 32,
    scheme: Scheme = Scheme.ZERO,
    seed: int = 0,
) -> Linear:
    rng = np.random.default_rng(seed)
    quant = QuantScheme(bits, group, scheme, ScaleDtype.FP16)
    groups = (shape[0], quant.num_groups(shape[1]))
    codes = rng.integers(0, 1 << bits, shape)
    signed = codes - (1 << bits - 1)
    floats = [rng.standard_normal(groups).astype(np.float16) for _ in range(2)]
    return quantized_linear(
        quant,
        signed.astype(np.int8) if scheme is Scheme.SYM else codes.astype(np.uint8),
        floats[0],
        zeros=rng.integers(0, 8, groups).astype(np.uint8) if scheme is Scheme.ZERO else None,
        biases=floats[1] if scheme is Scheme.AFFINE else None,
        perm=perm,
        bias=rng.standard_normal(shape[0]).astype(np.float32),
    )


def shuffled(size: int, seed: int = 1) -> Perm:
    return np.random.default_rng(seed).permutation(size).astype(np.int32)


def same_bits(found: Floats, wanted: Floats) -> bool:
    return np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize("scheme", list(Scheme))
@pytest.mark.parametrize(("bits", "group"), [(3, 32), (4, 16), (4, 32), (8, 64), (4, -1)])
@pytest.mark.parametrize("columns", [128, 144])
def test_the_normal_form_decodes_to_the_same_bits(
    scheme: Scheme, bits: int, group: int, columns: int
) -> None:
    linear = random_linear((6, columns), shuffled(columns), bits=bits, group=group, scheme=scheme)
    settled = normalize(linear)
    check_linear("linear", settled)
    assert same_bits(dequantize(settled), dequantize(linear))
    assert settled.num_bytes <= linear.num_bytes
    assert (settled.perm is None) == (group == -1)
    again = normalize(settled)
    assert all(np.array_equal(a, again.arrays()[n]) for n, a in settled.arrays().items())


def test_the_order_within_and_among_groups_does_not_matter() -> None:
    """Two spellings of one choice of groups get the same permutation."""
    perm = shuffled(144)
    other = perm.copy()
    other[:128] = other[:128].reshape(4, 32)[[2, 0, 3, 1]][:, ::-1].reshape(-1)
    first, second = (normalize(random_linear((4, 144), p)).perm for p in (perm, other))
    assert first is not None
    assert second is not None
    assert np.array_equal(first, second)
    assert np.array_equal(np.sort(first[128:]), np.sort(perm[128:]))  # the short group stays last


def test_columns_that_only_moved_inside_their_groups_need_no_permutation() -> None:
    perm = np.arange(128, dtype=np.int32).reshape(4, 32)[:, ::-1].reshape(-1)
    linear = random_linear((4, 128), perm.copy())
    settled = normalize(linear)
    assert settled.perm is None
    assert same_bits(dequantize(settled), dequantize(linear))


def test_two_level_scales_belong_to_places() -> None:
    quant = QuantScheme(4, 32, Scheme.SYM, ScaleDtype.TWO_LEVEL)
    linear = quantized_linear(
        quant,
        np.zeros((2, 256), np.int8),
        np.ones((2, 8), np.int8),
        super_scales=np.ones((2, 1), np.float16),
        perm=shuffled(256),
    )
    assert normalize(linear) is linear


def layer(down_perm: Perm | None, *, gate: Linear | None = None) -> dict[str, PartLinear]:
    shared = shuffled(64, seed=5)
    linears = {
        "layers.0.self_attn.o_proj": random_linear((64, 64), shuffled(64, seed=6)),
        "layers.0.mlp.gate_proj": gate or random_linear((96, 64), shared, seed=2),
        "layers.0.mlp.up_proj": random_linear((96, 64), shared, seed=3),
        "layers.0.mlp.down_proj": random_linear((64, 96), down_perm, seed=4),
    }
    return {name: PartLinear(linear, ORIGIN) for name, linear in linears.items()}


def dense(part: PartLinear) -> Floats:
    assert isinstance(part.linear, Linear)
    return dequantize(part.linear)


def bias(part: PartLinear) -> Floats:
    assert part.linear.bias is not None
    return part.linear.bias


@pytest.mark.parametrize("gate_is_dense", [False, True])
def test_down_is_folded_into_the_rows_of_gate_and_up(gate_is_dense: bool) -> None:
    weight = np.random.default_rng(9).standard_normal((96, 64)).astype(np.float32)
    gate = Linear((96, 64), weight=weight, bias=np.arange(96, dtype=np.float32))
    before = layer(shuffled(96), gate=gate if gate_is_dense else None)
    after = settle_permutations(before)
    old_gate, old_up, old_down = (before[f"layers.0.mlp.{n}_proj"] for n in ("gate", "up", "down"))
    new_gate, new_up, new_down = (after[f"layers.0.mlp.{n}_proj"] for n in ("gate", "up", "down"))
    assert isinstance(new_down.linear, Linear)
    assert new_down.linear.perm is None
    # Which row of the old gate each new row is: every row is there once, in down_proj's order.
    order = [int(np.flatnonzero(bias(old_gate) == b)[0]) for b in bias(new_gate)]
    assert sorted(order) == list(range(96))
    assert order != list(range(96))
    for old, new in ((old_gate, new_gate), (old_up, new_up)):
        assert same_bits(dense(new), dense(old)[order])
        assert np.array_equal(bias(new), bias(old)[order])
        assert new.provenance.row_order == "mlp.down_proj"
    assert same_bits(dense(new_down), dense(old_down)[:, order])
    assert new_down.provenance.row_order == ""
    o_proj = after["layers.0.self_attn.o_proj"].linear
    assert isinstance(o_proj, Linear)
    assert o_proj.perm is not None


def test_without_a_gate_down_is_folded_into_up_alone() -> None:
    before = layer(shuffled(96))
    del before["layers.0.mlp.gate_proj"]
    after = settle_permutations(before)
    old_up, old_down = (before[f"layers.0.mlp.{name}_proj"] for name in ("up", "down"))
    new_up, new_down = (after[f"layers.0.mlp.{name}_proj"] for name in ("up", "down"))
    order = [int(np.flatnonzero(bias(old_up) == b)[0]) for b in bias(new_up)]
    assert sorted(order) == list(range(96))
    assert order != list(range(96))
    assert same_bits(dense(new_up), dense(old_up)[order])
    assert same_bits(dense(new_down), dense(old_down)[:, order])


def test_the_note_counts_mlps_with_a_gate_and_without() -> None:
    for names, counted in (
        (("up",), "In 1 MLPs the rows of up_proj stand"),
        (("gate", "up"), "In 1 MLPs the rows of gate_proj and up_proj stand"),
    ):
        origin = replace(ORIGIN, row_order="mlp.down_proj")
        record = LinearRecord((96, 64), None, "float32", origin)
        records = {f"layers.0.mlp.{name}_proj": record for name in names}
        (note,) = outcome_notes({}, records)
        assert note.startswith(counted)


def test_without_a_permutation_nothing_changes() -> None:
    before = layer(None)
    after = settle_permutations(before)
    for name in ("gate", "up", "down"):
        old, new = before[f"layers.0.mlp.{name}_proj"], after[f"layers.0.mlp.{name}_proj"]
        assert same_bits(dense(new), dense(old))
        assert new.provenance == old.provenance


def test_parts_without_a_layer_pass_through() -> None:
    linear = random_linear((4, 128), None)
    assert settle_permutations({"lm_head": PartLinear(linear, ORIGIN)})["lm_head"].linear is linear


def test_a_converted_act_order_model_computes_what_its_source_does(tmp_path: Path) -> None:
    """GPTQ with act-order through the whole pipeline, against the source decoded densely."""
    folder = create_folder(group_size=16, sym=False, act_order=True).write(tmp_path / "gptq")
    report = convert(folder, tmp_path / "exact")
    convert(folder, tmp_path / "dense", grid="dense")
    assert report.lossless
    assert any("gate_proj and up_proj stand in the column order" in note for note in report.notes)
    with Checkpoint.open(tmp_path / "exact") as checkpoint:
        perms = {name: checkpoint.linear(name).perm for name in checkpoint.manifest.linears}
        for index in (0, 1):
            attention = [perms[f"layers.{index}.self_attn.{name}_proj"] for name in "qkv"]
            assert attention[0] is not None
            assert all(np.array_equal(attention[0], perm) for perm in attention)
            gate, up = (perms[f"layers.{index}.mlp.{name}_proj"] for name in ("gate", "up"))
            assert gate is not None
            assert up is not None
            assert np.array_equal(gate, up)
            assert perms[f"layers.{index}.mlp.down_proj"] is None
        attention, gate, up = [], None, None
        perms.clear()
    found, wanted = (run(tmp_path / name) for name in ("exact", "dense"))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def run(directory: Path) -> Floats:
    with Checkpoint.open(directory) as checkpoint:
        executor = ReferenceExecutor(checkpoint, create_spec(checkpoint.config), 32)
        ids = np.arange(3, 27, dtype=np.int32)
        (logits,) = executor.step([SequenceChunk(0, 0, ids, LogitsWanted.ALL)])
        executor.close()
    return logits


def test_the_row_order_stands_in_the_manifest(tmp_path: Path) -> None:
    folder = create_folder(group_size=16, act_order=True).write(tmp_path / "gptq")
    convert(folder, tmp_path / "out")
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        records = checkpoint.manifest.linears
        orders = {name: record.provenance.row_order for name, record in records.items()}
    expected = {name for name in orders if name.endswith(("gate_proj", "up_proj"))}
    assert {name for name, order in orders.items() if order} == expected

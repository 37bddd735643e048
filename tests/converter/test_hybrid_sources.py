"""Gated delta nets out of quantized files: stacks by key head, heads in turns, moved columns."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.core.errors import InvalidSourceError
from benchmarks.folder_encoders import ENCODERS
from tests.converter.test_fused_folders import FORMATS
from tests.converter.test_trials import as_mlx_saves
from tests.families.hybrid_cases import CASES, DELTA_NET, FIRST_FILES, center_norms
from tests.families.test_gguf_layouts import read, write
from tests.family_models import FamilyCase, cpu_logits, reference_logits, tiny_model, write_folder
from tests.gguf_factory import Floats, Q, encode, write_tensors

_CASES = {case.name: case for case in (*CASES, FIRST_FILES)}
_HIDDEN, _KEY_HEADS, _VALUE_HEADS = 64, 2, 4
_LAYER = "layers.0.linear_attn"


def _wide(value_dim: int, case: str = "qwen3.5") -> FamilyCase:
    """Columns that blocks divide."""
    sizes = {
        "hidden_size": _HIDDEN,
        "linear_num_key_heads": _KEY_HEADS,
        "linear_num_value_heads": _VALUE_HEADS,
        "linear_value_head_dim": value_dim,
    }
    model_type, changes = _CASES[case].model_type, _CASES[case].changes
    return FamilyCase("wide", model_type, {**changes, **sizes}, _CASES[case].gguf, center_norms)


def _in_model_order(rows: Floats, width: int) -> Floats:
    """Heads of the file, where those of different key heads take turns, in the model's order."""
    heads = rows.reshape(_VALUE_HEADS // _KEY_HEADS, _KEY_HEADS, width, *rows.shape[1:])
    return heads.swapaxes(0, 1).reshape(rows.shape)


# --- GGUF ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "value_dim", "has_order"),
    [
        (Q.Q8_0, 32, False),  # a head is a group: groups move
        (Q.Q4_1, 64, False),
        (Q.Q5_0, 16, True),  # two heads are a group
        (Q.Q6_K, 64, True),  # scales of a whole super-block stay together
        (Q.Q4_K, 128, True),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_columns_of_heads_in_turns_are_exact(
    kind: Q, value_dim: int, has_order: bool, tmp_path: Path
) -> None:
    architecture, metadata, tensors = read(write(_wide(value_dim), tmp_path))
    name = "blk.0.ssm_out.weight"
    path = write_tensors(tmp_path / "m.gguf", architecture, metadata, tensors, {name: kind})
    stored = gguf.GGUFReader(path)
    raw = next(np.array(tensor.data) for tensor in stored.tensors if tensor.name == name)
    decoded = gguf.quants.dequantize(raw, kind)
    want = _in_model_order(decoded.T, value_dim).T
    report = convert(path, tmp_path / "out", grid="exact", tokenizer_dir=tmp_path / "folder")
    assert report.lossless
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        linear = checkpoint.linear(f"{_LAYER}.out_proj")
        assert linear.quant is not None
        np.testing.assert_array_equal(dequantize(linear), want)
        assert (linear.perm is not None) == has_order
    source = open_source(path, tokenizer_dir=tmp_path / "folder")
    found = {li.name: li for part in source.parts() for li in part.linears}[f"{_LAYER}.out_proj"]
    assert found.iter_dense
    assert found.load_rows
    np.testing.assert_array_equal(found.load_dense(), want)
    np.testing.assert_array_equal(np.concatenate([block for _, block in found.iter_dense()]), want)
    np.testing.assert_array_equal(found.load_rows(slice(3, 9)), want[3:9])


def test_what_runs_out_of_order_says_the_same(tmp_path: Path) -> None:
    """Every linear of the linear layers is a block of its own, out_proj gathered at run time."""
    architecture, metadata, tensors = read(write(_wide(16), tmp_path))
    types = {
        name: Q.Q8_0
        for name in tensors
        if name.endswith(("attn_qkv.weight", "attn_gate.weight", "ssm_out.weight"))
    }
    path = write_tensors(tmp_path / "m.gguf", architecture, metadata, tensors, types)
    rounded = {
        name: gguf.quants.dequantize(encode(values, types[name]), types[name])
        if name in types
        else values
        for name, values in tensors.items()
    }
    plain = write_tensors(tmp_path / "plain.gguf", architecture, metadata, rounded)
    for source, output in ((path, "exact"), (plain, "dense")):
        convert(source, tmp_path / output, grid=output, tokenizer_dir=tmp_path / "folder")
    want = reference_logits(tmp_path / "dense")
    np.testing.assert_allclose(reference_logits(tmp_path / "exact"), want, rtol=0, atol=1e-4)
    np.testing.assert_allclose(cpu_logits(tmp_path / "exact", 13), want, rtol=0, atol=1e-4)


def test_blocks_of_the_first_files_are_cut_by_key_head(tmp_path: Path) -> None:
    case = _wide(16, "first files")
    architecture, metadata, tensors = read(write(case, tmp_path))
    types = {f"blk.0.{name}.weight": Q.Q4_0 for name in ("ssm_in", "ssm_ba")}
    path = write_tensors(tmp_path / "m.gguf", architecture, metadata, tensors, types)
    source = open_source(path, tokenizer_dir=tmp_path / "folder")
    found = {linear.name: linear for part in source.parts() for linear in part.linears}
    decoded = {
        name: gguf.quants.dequantize(encode(tensors[name], kind), kind)
        for name, kind in types.items()
    }
    wanted = _as_transformers_cuts(
        case, decoded["blk.0.ssm_in.weight"], decoded["blk.0.ssm_ba.weight"]
    )
    for name, want in wanted.items():
        np.testing.assert_array_equal(dequantize(found[name].load_native()), want, name)


def test_states_that_would_grow_are_refused(tmp_path: Path) -> None:
    architecture, metadata, tensors = read(write(_CASES["qwen3.5"], tmp_path))
    tensors["blk.0.ssm_a"][1] = 0.5
    path = write_tensors(tmp_path / "m.gguf", architecture, metadata, tensors)
    with pytest.raises(InvalidSourceError, match=r"'blk\.0\.ssm_a' is damaged: states would grow"):
        convert(path, tmp_path / "out", tokenizer_dir=tmp_path / "folder")


# --- folders -------------------------------------------------------------------------------------


def _as_transformers_cuts(case: FamilyCase, qkvz: Floats, ba: Floats) -> dict[str, Floats]:
    """The canonical linears of layer 0, by transformers' own split of what the stacks give."""
    import torch

    layer = tiny_model(case).model.layers[0].linear_attn
    # Each column of the weights as the output of a token.
    outputs = (torch.from_numpy(np.ascontiguousarray(w.T))[None] for w in (qkvz, ba))
    parts = layer.fix_query_key_value_ordering(*outputs)
    query, key, value, z, b, a = (p.reshape(p.shape[1], -1).numpy().T for p in parts)
    return {
        f"{_LAYER}.in_proj_qkv": np.concatenate((query, key, value)),
        f"{_LAYER}.in_proj_z": z,
        f"{_LAYER}.in_proj_b": b,
        f"{_LAYER}.in_proj_a": a,
    }


@pytest.mark.parametrize("method", FORMATS)
def test_packed_stacks_of_qwen3_next_are_cut_bit_for_bit(method: str, tmp_path: Path) -> None:
    encode_linear, table = FORMATS[method]
    case = _wide(16, "qwen3 next")
    folder = write_folder(case, tmp_path / "folder")
    tensors: dict[str, Any] = dict(load_file(folder / "model.safetensors"))
    stems = ("0.linear_attn.in_proj_qkvz", "0.linear_attn.in_proj_ba", "1.self_attn.q_proj")
    weights = {}
    for seed, stem in enumerate(f"model.layers.{stem}" for stem in stems):
        shape = tensors.pop(f"{stem}.weight").shape
        arrays, weights[stem] = encode_linear(shape, seed)
        tensors |= {f"{stem}.{last}": array for last, array in arrays.items()}
    save_file(tensors, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = table
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    source = open_source(folder)
    found = {linear.name: linear for part in source.parts() for linear in part.linears}
    wanted = _as_transformers_cuts(case, *list(weights.values())[:2])
    heads = weights["model.layers.1.self_attn.q_proj"].reshape(4, 2, DELTA_NET["head_dim"], -1)
    wanted["layers.1.self_attn.q_proj"] = heads[:, 0].reshape(-1, _HIDDEN)
    wanted["layers.1.self_attn.output_gate"] = heads[:, 1].reshape(-1, _HIDDEN)
    for name, want in wanted.items():
        np.testing.assert_array_equal(found[name].load_dense(), want, name)
        np.testing.assert_array_equal(dequantize(found[name].load_native()), want, name)


def test_an_mlx_folder_is_held_bit_for_bit(tmp_path: Path) -> None:
    """Every linear in groups of 64, stacks by key head among them, but for what routes."""
    sizes = {"moe_intermediate_size": 64, "shared_expert_intermediate_size": 64}
    wide = _wide(16, "qwen3 next")
    case = replace(wide, changes={**wide.changes, **sizes})
    folder = write_folder(case, tmp_path / "mlx")
    as_mlx_saves(folder)
    encoder = ENCODERS["MLX 4-bit"]
    tensors: dict[str, Any] = {}
    for name, values in load_file(folder / "model.safetensors").items():
        is_linear = values.ndim > 1 and values.shape[-1] == 64 and "gate.weight" not in name
        for last, array in encoder.encode(values.reshape(-1, 64)).items() if is_linear else ():
            stem = name.removesuffix("weight")
            tensors[f"{stem}{last}"] = array.reshape(*values.shape[:-1], -1)
        if not is_linear:
            tensors[name] = values
    save_file(tensors, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps({**config, **encoder.config}), encoding="utf-8")
    report = convert(folder, tmp_path / "exact")
    assert (report.format, report.lossless) == ("mlx", True)
    convert(folder, tmp_path / "dense", grid="dense")
    got, want = (reference_logits(tmp_path / grid) for grid in ("exact", "dense"))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-4)
    np.testing.assert_allclose(cpu_logits(tmp_path / "exact", 1), want, rtol=0, atol=1e-4)


def test_layers_that_predict_are_left_out_of_a_folder(tmp_path: Path) -> None:
    folder = write_folder(_CASES["qwen3.5"], tmp_path / "folder")
    tensors = load_file(folder / "model.safetensors")
    plain = open_source(folder)
    assert plain.notes == ()
    extra = {"mtp.fc.weight": np.ones((48, 96), np.float32), "mtp.norm.weight": np.ones(48)}
    save_file({**tensors, **extra}, folder / "model.safetensors")
    source = open_source(folder)
    assert source.notes == ("The layers that predict several tokens at once are left out.",)
    assert [part.file for part in source.parts()] == [part.file for part in plain.parts()]


def test_gates_of_heads_stay_dense_on_grids_that_lose(tmp_path: Path) -> None:
    folder = write_folder(_CASES["qwen3.5"], tmp_path / "folder")
    convert(folder, tmp_path / "out", grid="w8", group_size=32)
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        records = checkpoint.manifest.linears
        dense = {name for name, record in records.items() if record.quant is None}
    layers = (0, 2)
    assert dense == {f"layers.{i}.linear_attn.in_proj_{n}" for i in layers for n in "ba"}

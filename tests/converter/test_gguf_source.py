"""GGUF models through the whole conversion: names, row order, fused tensors, shards, refusals."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.converter.sources.gguf import GgufSource
from app.core.errors import InvalidSourceError, UnsupportedError, UsageError
from app.spec.registry import create_spec
from tests.gguf_factory import (
    Floats,
    Q,
    TinyModel,
    encode,
    gguf_name,
    num_heads_of,
    to_gguf_tensors,
    unpermute,
    write_gguf,
)

_KQUANT_SIZES = {"hidden": 256, "heads": 4, "kv_heads": 2, "head_dim": 64, "inner": 512}


def expected_weights(
    model: TinyModel, tensors: Mapping[str, Floats], types: Mapping[str, Q], canonical: list[str]
) -> dict[str, Floats]:
    """What gguf decodes each tensor to, in Hugging Face's row order."""
    names = list(tensors)
    found = {}
    for name in canonical:
        stored = gguf_name(name)
        kind = types.get(stored, Q.F32)
        raw = encode(tensors[stored], kind, seed=names.index(stored))
        heads = num_heads_of(model, name)
        decoded = gguf.quants.dequantize(raw, kind).reshape(tensors[stored].shape)
        found[name] = unpermute(decoded, heads) if heads else decoded
    return found


def assert_equal(output: Path, wanted: Mapping[str, Floats]) -> None:
    """Every tensor of the checkpoint, bit for bit."""
    checkpoint = Checkpoint.open(output)
    linears = set(checkpoint.manifest.linears)
    for name, weight in wanted.items():
        if name.endswith(".bias"):
            bias = checkpoint.linear(name.removesuffix(".bias")).bias
            assert bias is not None
            found = bias.astype(np.float32)
        elif weight.ndim == 2:
            found = dequantize(checkpoint.linear(name))
            linears.remove(name)
        else:
            found = checkpoint.vector(name).astype(np.float32)
        assert found.view(np.uint32).tolist() == weight.view(np.uint32).tolist(), name
    assert not linears
    checkpoint.close()


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("tied", [True, False])
def test_every_tensor_of_each_architecture(architecture: str, tied: bool, tmp_path: Path) -> None:
    model = TinyModel(architecture, tied=tied)
    weights = model.weights()
    tensors = to_gguf_tensors(model, weights)
    types = {
        "token_embd.weight": Q.Q8_0,
        "blk.0.attn_q.weight": Q.Q4_0,
        "blk.0.attn_k.weight": Q.Q4_1,
        "blk.0.attn_v.weight": Q.Q5_0,
        "blk.0.ffn_gate.weight": Q.F16,
        "blk.1.attn_q.weight": Q.BF16,
        "blk.1.ffn_down.weight": Q.Q5_1,
        "output.weight": Q.MXFP4,
    }
    types = {name: kind for name, kind in types.items() if name in tensors}
    path = write_gguf(tmp_path / "tiny.gguf", model, tensors, types)
    report = convert(path, tmp_path / "out")
    assert report.lossless
    assert report.rel_err_max == 0
    assert report.num_exact == len(types) - 2
    assert_equal(tmp_path / "out", expected_weights(model, tensors, types, list(weights)))
    spec = create_spec(json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8")))
    assert spec.tie_word_embeddings == tied


def test_permuted_rows_come_back_in_hugging_faces_order(tmp_path: Path) -> None:
    """The same, without the factory's own inverse: the float weights themselves."""
    model = TinyModel("llama")
    weights = model.weights()
    path = write_gguf(tmp_path / "tiny.gguf", model, to_gguf_tensors(model, weights))
    convert(path, tmp_path / "out", grid="dense")
    assert_equal(tmp_path / "out", weights)


@pytest.mark.parametrize(
    "kind", ["Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0"]
)
def test_k_quants_and_their_kin_are_lossless(kind: str, tmp_path: Path) -> None:
    model = TinyModel("llama", layers=1, tied=True, **_KQUANT_SIZES)
    weights = model.weights()
    tensors = to_gguf_tensors(model, weights)
    types = {name: Q[kind] for name, values in tensors.items() if values.ndim == 2}
    path = write_gguf(tmp_path / "tiny.gguf", model, tensors, types)
    report = convert(path, tmp_path / "out")
    assert report.lossless
    assert report.num_exact == len(types)
    assert_equal(tmp_path / "out", expected_weights(model, tensors, types, list(weights)))


@pytest.mark.parametrize("kind", ["IQ1_S", "IQ2_XS", "IQ3_S", "NVFP4"])
def test_code_books_are_requantized_and_say_so(kind: str, tmp_path: Path) -> None:
    model = TinyModel("qwen3", layers=1, tied=True, **_KQUANT_SIZES)
    weights = model.weights()
    tensors = to_gguf_tensors(model, weights)
    types = {"blk.0.ffn_up.weight": Q[kind]}
    path = write_gguf(tmp_path / "tiny.gguf", model, tensors, types)
    report = convert(path, tmp_path / "out")
    assert not report.lossless
    assert report.num_requant == 1
    row = next(t for t in report.tensors if t.name == "layers.0.mlp.up_proj")
    assert (row.source_type, row.path) == (kind, "requant")
    wanted = expected_weights(model, tensors, types, ["layers.0.mlp.up_proj"])
    weight = wanted["layers.0.mlp.up_proj"].astype(np.float64)
    checkpoint = Checkpoint.open(tmp_path / "out")
    found = dequantize(checkpoint.linear("layers.0.mlp.up_proj"))
    measured = np.linalg.norm(found - weight) / np.linalg.norm(weight)
    assert measured == pytest.approx(row.rel_err, rel=1e-4)
    assert 0 < measured < 0.02


def test_nvfp4_is_multiplied_with_its_own_scale(tmp_path: Path) -> None:
    model = TinyModel("qwen3", layers=1, tied=True)
    tensors = to_gguf_tensors(model, model.weights())
    plain = write_gguf(tmp_path / "plain.gguf", model, tensors, {"blk.0.ffn_up.weight": Q.NVFP4})
    tensors["blk.0.ffn_up.scale"] = np.array([0.25], np.float32)
    tensors["blk.0.ffn_up.input_scale"] = np.array([7.0], np.float32)
    scaled = write_gguf(tmp_path / "scaled.gguf", model, tensors, {"blk.0.ffn_up.weight": Q.NVFP4})
    first, second = (
        next(
            linear.load_dense()
            for part in GgufSource(path).parts()
            for linear in part.linears
            if linear.source_type == "NVFP4"
        )
        for path in (plain, scaled)
    )
    np.testing.assert_array_equal(second, first * np.float32(0.25))


def test_fused_tensors_are_split(tmp_path: Path) -> None:
    model = TinyModel("qwen2", layers=1)
    weights = model.weights()
    tensors = to_gguf_tensors(model, weights)
    for suffix in ("weight", "bias"):
        parts = [tensors.pop(f"blk.0.attn_{n}.{suffix}") for n in "qkv"]
        tensors[f"blk.0.attn_qkv.{suffix}"] = np.concatenate(parts)
    gate_up = [tensors.pop(f"blk.0.ffn_{n}.weight") for n in ("gate", "up")]
    tensors["blk.0.ffn_up.weight"] = np.concatenate(gate_up)
    path = write_gguf(tmp_path / "tiny.gguf", model, tensors)
    convert(path, tmp_path / "out", grid="dense")
    assert_equal(tmp_path / "out", weights)


def test_fused_and_permuted(tmp_path: Path) -> None:
    model = TinyModel("llama", layers=1)
    weights = model.weights()
    tensors = to_gguf_tensors(model, weights)
    tensors["blk.0.attn_qkv.weight"] = np.concatenate(
        [tensors.pop(f"blk.0.attn_{n}.weight") for n in "qkv"]
    )
    path = write_gguf(tmp_path / "tiny.gguf", model, tensors)
    convert(path, tmp_path / "out", grid="dense")
    assert_equal(tmp_path / "out", weights)


def test_biases_of_a_permuted_architecture(tmp_path: Path) -> None:
    model = TinyModel("llama", layers=1)
    weights = model.weights()
    rng = np.random.default_rng(5)
    for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
        rows = weights[f"layers.0.self_attn.{name}"].shape[0]
        bias = rng.standard_normal(rows).astype(np.float32)
        weights[f"layers.0.self_attn.{name}.bias"] = bias
    path = write_gguf(tmp_path / "tiny.gguf", model, to_gguf_tensors(model, weights))
    convert(path, tmp_path / "out", grid="dense")
    assert_equal(tmp_path / "out", weights)


def test_rope_freqs_reach_the_configuration(tmp_path: Path) -> None:
    model = TinyModel("llama", layers=1)
    tensors = to_gguf_tensors(model, model.weights())
    tensors["rope_freqs.weight"] = np.linspace(1, 4, 8).astype(np.float32)
    source = GgufSource(write_gguf(tmp_path / "tiny.gguf", model, tensors))
    parameters = source.config["rope_parameters"]
    assert parameters["rope_type"] == "table"
    assert "kept as a table" in source.notes[0]
    plain = 1e4 ** -(np.arange(0, 16, 2) / 16)
    wanted = plain / tensors["rope_freqs.weight"]
    np.testing.assert_allclose(parameters["inv_freq"], wanted, rtol=1e-6)


def write_shards(folder: Path, model: TinyModel) -> list[Path]:
    tensors = to_gguf_tensors(model, model.weights())
    write_gguf(folder / "tiny.gguf", model, tensors, max_tensors_per_shard=8)
    return sorted(folder.glob("tiny-*.gguf"))


def test_any_shard_finds_the_others(tmp_path: Path) -> None:
    model = TinyModel("qwen2")
    shards = write_shards(tmp_path, model)
    assert len(shards) > 2
    for number, shard in enumerate([*shards, tmp_path]):
        output = tmp_path / f"out{number}"
        convert(shard, output, grid="dense")
        assert_equal(output, model.weights())


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, TinyModel("qwen2"))
    shards[1].unlink()
    for shard in (shards[0], shards[2]):
        with pytest.raises(InvalidSourceError, match=rf"the shard {shards[1].name} is missing"):
            open_source(shard)


def test_a_shard_of_another_model_is_named(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, TinyModel("qwen2"))
    (tmp_path / "other").mkdir()
    others = write_shards(tmp_path / "other", TinyModel("qwen2", layers=3))
    shards[1].write_bytes(others[1].read_bytes())
    with pytest.raises(InvalidSourceError, match=r"split\.(count|tensors\.count)"):
        open_source(shards[0])


def test_a_renamed_shard_is_told(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, TinyModel("qwen2"))
    renamed = shards[0].rename(tmp_path / "model.gguf")
    with pytest.raises(InvalidSourceError, match="one of 4 shards, but its name does not end in"):
        open_source(renamed)


def test_misfitting_tensors_are_listed_apart(tmp_path: Path) -> None:
    model = TinyModel("llama")
    tensors = to_gguf_tensors(model, model.weights())
    del tensors["blk.1.ffn_norm.weight"]
    tensors["blk.0.attn_k.weight"] = np.zeros((48, 64), np.float32)
    tensors["blk.7.mystery.weight"] = np.zeros((4, 4), np.float32)
    with pytest.raises(InvalidSourceError) as raised:
        open_source(write_gguf(tmp_path / "tiny.gguf", model, tensors))
    assert raised.value.message == (
        "tiny.gguf: its tensors are not those of LlamaForCausalLM: "
        "missing blk.1.ffn_norm.weight; unexpected blk.7.mystery.weight; "
        "mis-shaped blk.0.attn_k.weight [48, 64] instead of [32, 64]."
    )


def test_types_without_a_decoder_are_refused_by_name(tmp_path: Path) -> None:
    model = TinyModel("llama", layers=1, **_KQUANT_SIZES)
    path = write_gguf(tmp_path / "tiny.gguf", model, to_gguf_tensors(model, model.weights()))
    data = path.read_bytes()
    at = data.index(b"blk.0.attn_v.weight") + len("blk.0.attn_v.weight") + 4 + 16
    path.write_bytes(data[:at] + (15).to_bytes(4, "little") + data[at + 4 :])  # Q8_K
    with pytest.raises(UnsupportedError, match=r"'blk\.0\.attn_v\.weight' has the ggml type Q8_K"):
        open_source(path)


@pytest.mark.parametrize("version", [1, 3, "2"])
def test_blocks_of_another_version_are_refused(version: int | str, tmp_path: Path) -> None:
    model = TinyModel("llama", metadata={"general.quantization_version": version})
    path = write_gguf(tmp_path / "tiny.gguf", model, to_gguf_tensors(model, model.weights()))
    with pytest.raises(UnsupportedError, match="quantization version"):
        open_source(path)


def test_quantized_norms_are_refused(tmp_path: Path) -> None:
    model = TinyModel("llama", layers=1)
    tensors = to_gguf_tensors(model, model.weights())
    types = {"output_norm.weight": Q.Q8_0}
    with pytest.raises(UnsupportedError, match="must be a vector of floats"):
        open_source(write_gguf(tmp_path / "tiny.gguf", model, tensors, types))


def test_a_tokenizer_folder_replaces_the_files_own(tmp_path: Path) -> None:
    model = TinyModel("llama", metadata={"tokenizer.ggml.pre": "never-heard-of"})
    path = write_gguf(tmp_path / "tiny.gguf", model, to_gguf_tensors(model, model.weights()))
    with pytest.raises(UnsupportedError, match="never-heard-of"):
        convert(path, tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
    folder = tmp_path / "tokenizer"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"no tokenizer\.json"):
        convert(path, tmp_path / "refused", tokenizer_dir=folder)
    (folder / "tokenizer.json").write_text('{"version": "1.0"}', encoding="utf-8")
    convert(path, tmp_path / "out", tokenizer_dir=folder)
    assert (tmp_path / "out" / "tokenizer.json").read_text(encoding="utf-8") == '{"version": "1.0"}'
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation["eos_token_id"] == 258

"""The folder round trip, its determinism, and calls out of order."""

from __future__ import annotations

import threading
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file

from app.checkpoint.manifest import Provenance, SourceInfo
from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize, quantized_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme, TensorPath
from app.checkpoint.writer import CheckpointWriter, PartLinear, PartRecord, WriterState
from app.core.errors import CheckpointError

SOURCE = SourceInfo("gguf", "tiny.gguf", 4096)


def _quantized(seed: int = 0) -> Linear:
    rng = np.random.default_rng(seed)
    quant = QuantScheme(4, 32, Scheme.AFFINE, ScaleDtype.FP16)
    scales = rng.normal(size=(8, 2)).astype(np.float16)
    biases = rng.normal(size=(8, 2)).astype(np.float16)
    codes = rng.integers(0, 16, (8, 64), dtype=np.uint8)
    return quantized_linear(quant, codes, scales, biases=biases, bias=np.ones(8, np.float32))


def _dense() -> Linear:
    weight = np.arange(32, dtype=np.float32).reshape(4, 8).astype(ml_dtypes.bfloat16)
    return Linear(weight.shape, weight=weight)


def _part(linear: Linear, source: str = "blk.0.attn_q.weight") -> PartLinear:
    path = TensorPath.DENSE if linear.quant is None else TensorPath.EXACT
    return PartLinear(linear, Provenance(source, "Q4_1", path, 0.0))


def _write_layer(writer: CheckpointWriter, layer: int) -> PartRecord:
    name = f"layers.{layer}"
    linears = {f"{name}.self_attn.q_proj": _part(_quantized(layer))}
    return writer.write_part(
        f"layer_{layer:02d}", linears, {f"{name}.input_layernorm": np.ones(64, np.float32)}
    )


def _write(directory: Path, layers: tuple[int, ...] = (0, 1)) -> None:
    writer = CheckpointWriter()
    writer.begin(directory)
    for layer in layers:
        _write_layer(writer, layer)
    writer.write_part("embed", {"embed_tokens": _part(_dense(), "token_embd.weight")}, {})
    writer.write_part("norm", {}, {"norm": np.ones(64, np.float16)})
    writer.write_text("config.json", '{"hidden_size": 64}')
    writer.finish("LlamaForCausalLM", SOURCE, "deepinfer 0")


def test_round_trip(tmp_path: Path) -> None:
    _write(tmp_path)
    with Checkpoint.open(tmp_path) as checkpoint:
        assert checkpoint.config == {"hidden_size": 64}
        assert checkpoint.generation_config == {}
        linear = checkpoint.linear("layers.1.self_attn.q_proj")
        assert dequantize(linear).tobytes() == dequantize(_quantized(1)).tobytes()
        assert linear.bias is not None
        assert linear.bias.tolist() == [1.0] * 8
        assert checkpoint.linear("embed_tokens").weight is not None
        assert np.array_equal(dequantize(checkpoint.linear("embed_tokens")), dequantize(_dense()))
        assert checkpoint.vector("norm").dtype == np.float16
        assert checkpoint.vector("layers.0.input_layernorm").shape == (64,)
        assert checkpoint.has("embed_tokens")
        assert not checkpoint.has("lm_head")
        assert checkpoint.manifest.source == SOURCE
        assert checkpoint.manifest.is_lossless
        sizes = sum(f.stat().st_size for f in tmp_path.iterdir() if f.name != "manifest.json")
        assert checkpoint.total_bytes == sizes


def test_linears_are_views_of_the_file(tmp_path: Path) -> None:
    _write(tmp_path)
    with Checkpoint.open(tmp_path) as checkpoint:
        packed = checkpoint.linear("layers.0.self_attn.q_proj").packed
        assert packed is not None
        assert not packed.flags.owndata
        assert not packed.flags.writeable


def test_the_safetensors_package_reads_our_files(tmp_path: Path) -> None:
    _write(tmp_path)
    tensors = load_file(tmp_path / "layer_00.safetensors")
    wanted = _quantized(0).arrays()
    assert set(tensors) == {f"self_attn.q_proj.{k}" for k in wanted} | {"input_layernorm.weight"}
    assert all(
        np.array_equal(tensors[f"self_attn.q_proj.{k}"], array) for k, array in wanted.items()
    )


def test_every_tensor_is_aligned_to_its_items(tmp_path: Path) -> None:
    _write(tmp_path)
    with Checkpoint.open(tmp_path) as checkpoint:
        arrays = checkpoint.linear("layers.0.self_attn.q_proj").arrays().values()
        assert all(array.ctypes.data % array.itemsize == 0 for array in arrays)


def test_output_is_deterministic_to_the_byte(tmp_path: Path) -> None:
    _write(tmp_path / "a", (0, 1))
    _write(tmp_path / "b", (1, 0))
    names = sorted(f.name for f in (tmp_path / "a").iterdir())
    assert names == sorted(f.name for f in (tmp_path / "b").iterdir())
    assert all(
        (tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes() for n in names
    )


def test_no_partial_file_stays(tmp_path: Path) -> None:
    _write(tmp_path)
    assert not list(tmp_path.glob("*.partial"))


def test_parts_are_written_in_parallel(tmp_path: Path) -> None:
    writer = CheckpointWriter()
    writer.begin(tmp_path)
    threads = [threading.Thread(target=_write_layer, args=(writer, layer)) for layer in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.write_text("config.json", "{}")
    manifest = writer.finish("LlamaForCausalLM", SOURCE, "deepinfer 0")
    assert len(manifest.linears) == 12
    with Checkpoint.open(tmp_path) as checkpoint:
        assert checkpoint.has("layers.11.self_attn.q_proj")


def test_adopted_part_gives_the_same_checkpoint(tmp_path: Path) -> None:
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    _write(whole)
    killed = CheckpointWriter()
    killed.begin(resumed)
    records = {i: PartRecord.from_json(_write_layer(killed, i).to_json(), "log:") for i in (0, 1)}
    writer = CheckpointWriter()
    writer.begin(resumed)
    assert all(writer.adopt_part(f"layer_{i:02d}", record) for i, record in records.items())
    writer.write_part("embed", {"embed_tokens": _part(_dense(), "token_embd.weight")}, {})
    writer.write_part("norm", {}, {"norm": np.ones(64, np.float16)})
    writer.write_text("config.json", '{"hidden_size": 64}')
    writer.finish("LlamaForCausalLM", SOURCE, "deepinfer 0")
    assert (whole / "manifest.json").read_bytes() == (resumed / "manifest.json").read_bytes()


@pytest.mark.parametrize("damage", ["missing", "short", "flipped"])
def test_damaged_part_is_not_adopted(tmp_path: Path, damage: str) -> None:
    writer = CheckpointWriter()
    writer.begin(tmp_path)
    record = _write_layer(writer, 0)
    path = tmp_path / "layer_00.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.unlink()
    if damage != "missing":
        path.write_bytes(content if damage == "flipped" else content[:-1])
    fresh = CheckpointWriter()
    fresh.begin(tmp_path)
    assert not fresh.adopt_part("layer_00", record)
    _write_layer(fresh, 0)  # and it can be written anew


def test_calls_out_of_order_are_refused(tmp_path: Path) -> None:
    writer = CheckpointWriter()
    with pytest.raises(CheckpointError, match="was called while the checkpoint writer was new"):
        _write_layer(writer, 0)
    with pytest.raises(CheckpointError, match="finish was called"):
        writer.finish("A", SOURCE, "t")
    writer.begin(tmp_path)
    with pytest.raises(CheckpointError, match="begin was called"):
        writer.begin(tmp_path)
    with pytest.raises(CheckpointError, match=r"without config\.json"):
        writer.finish("A", SOURCE, "t")
    writer.write_text("config.json", "{}")
    writer.finish("A", SOURCE, "t")
    assert writer.state is WriterState.FINISHED
    with pytest.raises(CheckpointError, match="was finished"):
        _write_layer(writer, 0)


def test_a_part_is_written_once(tmp_path: Path) -> None:
    writer = CheckpointWriter()
    writer.begin(tmp_path)
    _write_layer(writer, 0)
    with pytest.raises(CheckpointError, match="twice"):
        _write_layer(writer, 0)


def test_a_failed_write_leaves_nothing_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = CheckpointWriter()
    writer.begin(tmp_path)
    with monkeypatch.context() as patch:

        def full_disk(_: int) -> None:
            raise OSError(28, "No space left on device")

        patch.setattr("os.fsync", full_disk)
        with pytest.raises(OSError, match="No space"):
            _write_layer(writer, 0)
    assert not list(tmp_path.iterdir())
    _write_layer(writer, 0)


@pytest.mark.parametrize("name", ["../evil.json", "a/b", "c:d", "manifest.json", ""])
def test_text_files_stay_in_the_folder(tmp_path: Path, name: str) -> None:
    writer = CheckpointWriter()
    writer.begin(tmp_path / "inside")
    with pytest.raises(CheckpointError, match="cannot be a file"):
        writer.write_text(name, "x")


def test_arrays_that_do_not_fit_are_refused_by_name(tmp_path: Path) -> None:
    writer = CheckpointWriter()
    writer.begin(tmp_path)
    linear = _quantized()
    assert linear.scales is not None
    linear.scales[0, 0] = np.nan
    with pytest.raises(CheckpointError, match=r"layers\.0\.mlp\.up_proj\.scales .*not finite"):
        writer.write_part("layer_00", {"layers.0.mlp.up_proj": _part(linear)}, {})
    with pytest.raises(CheckpointError, match=r"lm_head does not belong in layer_00"):
        writer.write_part("layer_00", {"lm_head": _part(_dense())}, {})
    with pytest.raises(CheckpointError, match="norm is not an array of finite"):
        writer.write_part("norm", {}, {"norm": np.array([1.0, np.inf], np.float32)})
    exact = Provenance("s", "F32", TensorPath.EXACT, 0.0)
    with pytest.raises(CheckpointError, match="stored as exact"):
        writer.write_part("lm_head", {"lm_head": PartLinear(_dense(), exact)}, {})


def test_is_native_dir(tmp_path: Path) -> None:
    assert not Checkpoint.is_native_dir(tmp_path)
    _write(tmp_path)
    assert Checkpoint.is_native_dir(tmp_path)


def test_a_closed_checkpoint_lets_its_folder_go(tmp_path: Path) -> None:
    _write(tmp_path)
    checkpoint = Checkpoint.open(tmp_path)
    kept = checkpoint.vector("norm")
    checkpoint.close()
    assert kept.sum() == 64  # a view outlives close instead of crashing
    checkpoint.close()

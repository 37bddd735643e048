"""Plain Hugging Face folders as sources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import save_file

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.core.errors import InvalidSourceError, UnsupportedError, UsageError
from tests.gguf_factory import TinyModel

Arrays = Mapping[str, npt.NDArray[Any]]


def hf_name(canonical: str) -> str:
    name = canonical if canonical.startswith("lm_head") else f"model.{canonical}"
    return name if name.endswith(".bias") else f"{name}.weight"


def hf_config(model: TinyModel) -> dict[str, Any]:
    classes = {
        "llama": "LlamaForCausalLM",
        "qwen2": "Qwen2ForCausalLM",
        "qwen3": "Qwen3ForCausalLM",
    }
    return {
        "architectures": [classes[model.architecture]],
        "model_type": model.architecture,
        "hidden_size": model.hidden,
        "intermediate_size": model.inner,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads,
        "head_dim": model.head_dim,
        "vocab_size": model.vocab,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": model.tied,
        "eos_token_id": 2,
    }


def write_config(folder: Path, config: Mapping[str, Any]) -> None:
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def write_folder(
    folder: Path, model: TinyModel, tensors: Arrays, *, num_files: int = 1, **config: Any
) -> Path:
    folder.mkdir()
    write_config(folder, hf_config(model) | config)
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    (folder / "chat_template.jinja").write_text("{{ 模板 }}", encoding="utf-8")
    names = list(tensors)
    if num_files == 1:
        save_file(dict(tensors), folder / "model.safetensors")
        return folder
    files = {name: f"model-{i % num_files + 1:05d}.safetensors" for i, name in enumerate(names)}
    for file in set(files.values()):
        save_file({n: tensors[n] for n in names if files[n] == file}, folder / file)
    index = json.dumps({"metadata": {}, "weight_map": files})
    (folder / "model.safetensors.index.json").write_text(index, encoding="utf-8")
    return folder


def hf_tensors(model: TinyModel, dtype: npt.DTypeLike = np.float32) -> dict[str, npt.NDArray[Any]]:
    return {hf_name(name): weight.astype(dtype) for name, weight in model.weights().items()}


def load(output: Path) -> dict[str, npt.NDArray[Any]]:
    checkpoint = Checkpoint.open(output)
    found = {hf_name(n): dequantize(checkpoint.linear(n)) for n in checkpoint.manifest.linears}
    for name in checkpoint.manifest.linears:
        bias = checkpoint.linear(name).bias
        if bias is not None:
            found[hf_name(f"{name}.bias")] = bias.astype(np.float32)
    for index in range(2):
        for norm in ("input_layernorm", "post_attention_layernorm"):
            name = f"layers.{index}.{norm}"
            found[hf_name(name)] = checkpoint.vector(name).astype(np.float32)
    checkpoint.close()
    return found


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("num_files", [1, 3])
def test_dense_keeps_every_bit_and_the_dtype(dtype: str, num_files: int, tmp_path: Path) -> None:
    model = TinyModel("qwen2")
    tensors = hf_tensors(model, np.dtype(getattr(ml_dtypes, dtype, dtype)))
    folder = write_folder(tmp_path / "源 folder", model, tensors, num_files=num_files)
    report = convert(folder, tmp_path / "out", grid="dense")
    assert report.lossless
    assert report.format == "dense"
    for name, weight in load(tmp_path / "out").items():
        np.testing.assert_array_equal(weight, tensors[name].astype(np.float32), err_msg=name)
    manifest = Checkpoint.open(tmp_path / "out").manifest
    assert {record.dtype for record in manifest.linears.values()} == {dtype}
    template = (tmp_path / "out" / "chat_template.jinja").read_text(encoding="utf-8")
    assert template == "{{ 模板 }}"
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation == {"eos_token_id": 2}


def test_auto_means_four_bits_with_a_measured_error(tmp_path: Path) -> None:
    model = TinyModel("qwen3", tied=True)
    tensors = hf_tensors(model, ml_dtypes.bfloat16)
    report = convert(write_folder(tmp_path / "hf", model, tensors), tmp_path / "out", group_size=32)
    assert not report.lossless
    assert report.num_requant == 15
    found = load(tmp_path / "out")
    for row in report.tensors:
        weight = tensors[hf_name(row.name)].astype(np.float64)
        measured = np.linalg.norm(found[hf_name(row.name)] - weight) / np.linalg.norm(weight)
        assert measured == pytest.approx(row.rel_err, rel=1e-4)
        # Embeddings and lm_head keep 8 bits.
        assert 0.01 < measured < 0.2 if "_proj" in row.name else 0.001 < measured < 0.01


def test_a_tied_copy_is_dropped_and_a_different_head_is_used(tmp_path: Path) -> None:
    model = TinyModel("llama", tied=True)
    tensors = hf_tensors(model)
    copy = tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"].copy()}
    source = open_source(write_folder(tmp_path / "copy", model, copy))
    assert source.notes == ()
    assert source.config["tie_word_embeddings"] is True
    other = tensors | {"lm_head.weight": tensors["model.embed_tokens.weight"] + 1}
    convert(write_folder(tmp_path / "other", model, other), tmp_path / "out", grid="dense")
    np.testing.assert_array_equal(load(tmp_path / "out")["lm_head.weight"], other["lm_head.weight"])
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config["tie_word_embeddings"] is False
    assert "a different lm_head.weight" in (tmp_path / "out" / "conversion_report.md").read_text()


def test_untied_without_a_head_is_refused(tmp_path: Path) -> None:
    model = TinyModel("llama", tied=False)
    tensors = hf_tensors(model)
    del tensors["lm_head.weight"]
    with pytest.raises(InvalidSourceError, match=r"missing lm_head\.weight"):
        open_source(write_folder(tmp_path / "hf", model, tensors))


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"quantization_config": {"quant_method": "aqlm", "bits": 4}}, "method aqlm"),
        ({"compression_config": {"bits": 4}}, "method unknown .compression_config"),
        ({"text_config": {"quantization_config": {"quant_method": "vptq"}}}, "method vptq"),
        ({"architectures": ["BertModel"]}, "BertModel"),
    ],
)
def test_what_is_refused_by_name(config: dict[str, Any], reason: str, tmp_path: Path) -> None:
    model = TinyModel("llama")
    folder = write_folder(tmp_path / "hf", model, hf_tensors(model), **config)
    with pytest.raises(UnsupportedError, match=reason):
        open_source(folder)


def test_tensors_that_no_configuration_explains_are_refused(tmp_path: Path) -> None:
    model = TinyModel("llama")
    tensors = hf_tensors(model)
    weight = tensors.pop("model.layers.0.mlp.up_proj.weight")
    tensors["model.layers.0.mlp.up_proj.qweight"] = weight.astype(np.int32)
    with pytest.raises(InvalidSourceError, match=r"no configuration says .* \.qweight tensors"):
        open_source(write_folder(tmp_path / "hf", model, tensors))


def test_damaged_folders(tmp_path: Path) -> None:
    model = TinyModel("llama")
    folder = write_folder(tmp_path / "hf", model, hf_tensors(model), num_files=2)
    (folder / "model-00002.safetensors").unlink()
    with pytest.raises(InvalidSourceError, match=r"model-00002\.safetensors is missing"):
        open_source(folder)
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n"
    (folder / "model-00002.safetensors").write_bytes(pointer)
    with pytest.raises(InvalidSourceError, match=r"model-00002\.safetensors: this is a Git LFS"):
        open_source(folder)
    (folder / "model-00002.safetensors").write_bytes(b"\xff" * 40)
    with pytest.raises(InvalidSourceError, match=r"model-00002\.safetensors is not a sound"):
        open_source(folder)
    (folder / "model-00002.safetensors").unlink()
    write_config(folder, hf_config(model) | {"num_hidden_layers": 1 << 50})
    save_file(hf_tensors(model), folder / "model-00002.safetensors")
    save_file({}, folder / "model-00001.safetensors")
    with pytest.raises(InvalidSourceError, match="but there are only 21 tensors"):
        open_source(folder)
    (folder / "config.json").write_text("[1]", encoding="utf-8")
    with pytest.raises(InvalidSourceError, match=r"config\.json does not hold a JSON object"):
        open_source(folder)
    for damage in ("", "{", "[" * 100_000):
        (folder / "config.json").write_text(damage, encoding="utf-8")
        with pytest.raises(InvalidSourceError, match=r"config\.json cannot be read"):
            open_source(folder)


def test_integer_weights_are_refused_by_dtype(tmp_path: Path) -> None:
    model = TinyModel("llama")
    tensors = hf_tensors(model)
    tensors["model.layers.0.mlp.up_proj.weight"] = np.zeros((96, 64), np.int8)
    with pytest.raises(UnsupportedError, match=r"up_proj\.weight has the dtype int8"):
        open_source(write_folder(tmp_path / "hf", model, tensors))


def test_sources_that_are_no_models(tmp_path: Path) -> None:
    files = {
        "model.safetensors": (UsageError, "choose the folder"),
        "pytorch_model.bin": (UsageError, "choose the folder"),
        "model.pth": (UnsupportedError, "pickle"),
        "notes.txt": (UnsupportedError, "is no model"),
        "model.gguf.part1of2": (UnsupportedError, "piece of a cut file"),
        "model.gguf-split-a": (UnsupportedError, "piece of a cut file"),
    }
    for name, (kind, reason) in files.items():
        (tmp_path / name).write_bytes(b"some bytes")
        with pytest.raises(kind, match=reason):
            open_source(tmp_path / name)
    with pytest.raises(UsageError, match="does not exist"):
        open_source(tmp_path / "absent.gguf")
    with pytest.raises(InvalidSourceError, match=r"weights but no config\.json"):
        open_source(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidSourceError, match=r"neither a config\.json nor a GGUF"):
        open_source(tmp_path / "empty")
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).write_bytes(b"GGUF")
    with pytest.raises(UsageError, match="several GGUF models"):
        open_source(tmp_path)


def test_the_format_can_be_insisted_on(tmp_path: Path) -> None:
    model = TinyModel("llama")
    folder = write_folder(tmp_path / "hf", model, hf_tensors(model))
    assert open_source(folder, format="dense").format == "dense"
    with pytest.raises(UsageError, match="in the format dense, not gguf"):
        open_source(folder, format="gguf")
    with pytest.raises(UsageError, match="'exl9' is not known"):
        open_source(folder, format="exl9")

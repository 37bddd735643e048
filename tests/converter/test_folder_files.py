"""Which files of a folder count, and folders that are no model of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.converter.sources.weight_files import open_weights
from app.core.errors import InvalidSourceError, UnsupportedError, UsageError
from tests.converter.test_dense_source import hf_config, hf_tensors, load, write_folder
from tests.gguf_factory import TinyModel, to_gguf_tensors, write_gguf

_MODEL = TinyModel("llama")
_UP = "model.layers.0.mlp.up_proj.weight"
_OTHER = {_UP: np.zeros((2, 2), np.float32)}


@pytest.mark.parametrize("num_files", [1, 2])
def test_stray_copies_are_never_read(num_files: int, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "hf", _MODEL, hf_tensors(_MODEL), num_files=num_files)
    (folder / "original").mkdir()
    stray = (
        "consolidated.safetensors",
        "consolidated-00001-of-00002.safetensors",
        "model.fp16.safetensors",
        "model.fp16-00001-of-00002.safetensors",
        "adapter_model.safetensors",
        "original/model.safetensors",
    )
    for name in stray:
        save_file(_OTHER, folder / name)
    for name in ("pytorch_model.bin", "consolidated.00.pth", "training_args.bin"):
        (folder / name).write_bytes(b"not even a zip")
    (folder / "adapter_config.json").write_text("{}", encoding="utf-8")
    source = open_source(folder)
    assert all("safetensors" in file.name for file in source.files[1:])
    assert len(source.files) == 1 + num_files
    convert(folder, tmp_path / "out", grid="dense")
    np.testing.assert_array_equal(load(tmp_path / "out")[_UP], hf_tensors(_MODEL)[_UP])


def test_an_index_decides_alone(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "hf", _MODEL, hf_tensors(_MODEL), num_files=2)
    save_file(_OTHER, folder / "model.safetensors")
    assert {file.name for file in open_source(folder).files} == {
        "config.json",
        "model-00001.safetensors",
        "model-00002.safetensors",
    }


def test_without_an_index_all_files_count_together(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "hf", _MODEL, hf_tensors(_MODEL), num_files=3)
    (folder / "model.safetensors.index.json").unlink()
    assert len(open_source(folder).files) == 4
    save_file(_OTHER, folder / "extra.safetensors")
    with pytest.raises(InvalidSourceError, match=r"up_proj\.weight also stands in extra"):
        open_source(folder)


def _index(folder: Path, weight_map: Any) -> None:
    document = json.dumps({"weight_map": weight_map})
    (folder / "model.safetensors.index.json").write_text(document, encoding="utf-8")


@pytest.mark.parametrize(
    ("weight_map", "reason"),
    [
        ({_UP: "model.safetensors", "lost.weight": "model.safetensors"}, r"names lost\.weight"),
        ({_UP: "model-2.safetensors"}, r"the file model-2\.safetensors is missing"),
        ({_UP: "../model.safetensors"}, r"the file \.\./model\.safetensors is missing"),
        ({}, "has no weight_map"),
        ([1], "has no weight_map"),
    ],
)
def test_an_index_that_lies(weight_map: Any, reason: str, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "hf", _MODEL, hf_tensors(_MODEL))
    _index(folder, weight_map)
    with pytest.raises(InvalidSourceError, match=reason):
        open_weights(folder)


def test_a_folder_without_weights(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "hf", _MODEL, {})
    (folder / "model.safetensors").unlink()
    with pytest.raises(InvalidSourceError, match=r"the file model\.safetensors is missing"):
        open_source(folder)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (("adapter_config.json", "adapter_model.safetensors"), r"an adapter \(LoRA\)"),
        (("adapter_config.json", "adapter_model.bin", "config.json"), r"an adapter \(LoRA\)"),
        (("params.json", "consolidated.safetensors"), "consolidated format of Meta and Mistral"),
        (("params.json", "consolidated.00.pth"), "consolidated format of Meta and Mistral"),
        (("qmodel.pt", "config.json"), "HQQ's own pickle format"),
    ],
)
def test_folders_that_are_something_else(
    files: tuple[str, ...], reason: str, tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).write_text("{}", encoding="utf-8")
    with pytest.raises(UnsupportedError, match=reason):
        open_source(tmp_path)


def test_gguf_files_beside_a_config(tmp_path: Path) -> None:
    folder = tmp_path / "gguf"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(hf_config(_MODEL)), encoding="utf-8")
    (folder / "params.json").write_text("{}", encoding="utf-8")
    write_gguf(folder / "model.gguf", _MODEL, to_gguf_tensors(_MODEL, _MODEL.weights()))
    assert open_source(folder).format == "gguf"
    save_file(hf_tensors(_MODEL), folder / "model.safetensors")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    assert open_source(folder).format == "dense"


@pytest.mark.parametrize(
    "config",
    [
        {"draft_vocab_size": 32000},
        {"speculators_config": {"algorithm": "eagle3"}},
        {"speculators_model_type": "eagle"},
        {"eagle_config": {}, "medusa_num_heads": 4},
    ],
)
def test_drafts_are_refused_by_name(config: dict[str, Any], tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "hf", _MODEL, hf_tensors(_MODEL), **config)
    with pytest.raises(UnsupportedError, match="a draft model for speculative decoding"):
        open_source(folder)


@pytest.mark.parametrize(
    "method",
    [
        "aqlm", "vptq", "quanto", "eetq", "higgs", "torchao", "bitnet", "spqr", "quark",
        "fp_quant", "qqq", "marlin", "bitblas", "exl3", "metal", "fouroversix", "sinq",
        "paroquant", "nvfp4", "something-new",
    ],
)  # fmt: skip
def test_methods_that_are_refused_by_name(method: str, tmp_path: Path) -> None:
    declared = {"quant_method": method.upper(), "bits": 4}
    folder = write_folder(tmp_path / "hf", _MODEL, hf_tensors(_MODEL), quantization_config=declared)
    with pytest.raises(UnsupportedError, match=f"quantization method {method} "):
        open_source(folder)
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    ("suffix", "dtype", "kind"),
    [
        (".trellis", np.int16, "trellis"),
        (".weight_packed", np.uint8, "weight_packed"),
        (".weight", np.uint32, "uint32 .weight"),
        (".SCB", np.float32, "SCB"),
        (".W_q", np.uint8, "W_q"),
        (".weight_scale_inv", np.float32, "weight_scale_inv"),
        (".B", np.int32, "B"),
    ],
)
def test_quantized_tensors_without_a_declaration(
    suffix: str, dtype: type[np.generic], kind: str, tmp_path: Path
) -> None:
    tensors = dict(hf_tensors(_MODEL)) | {f"model.x{suffix}": np.zeros((2, 2), dtype)}
    folder = write_folder(tmp_path / "hf", _MODEL, tensors)
    with pytest.raises(InvalidSourceError, match=f"no configuration says .*{kind} tensors"):
        open_source(folder)


def test_a_single_file_asks_for_its_folder(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "hf", _MODEL, hf_tensors(_MODEL))
    with pytest.raises(UsageError, match="choose the folder"):
        open_source(folder / "model.safetensors")

"""Damaged and mislabelled GPTQ folders: refused in one sentence, or exactly right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.checkpoint.reference_quant import dequantize
from app.converter.sources.detect import open_source
from app.core.errors import AppError, InvalidSourceError, UnsupportedError
from tests.converter.gptq_folder import GptqFolder, create_folder
from tests.converter.test_gptq import assert_same_bits, quantized
from tests.gguf_factory import TinyModel

STEM = "model.layers.1.mlp.down_proj"
SQUARE = TinyModel("llama", hidden=64, inner=64, kv_heads=4)


def refused_or_right(folder: GptqFolder, path: Path) -> str:
    """The sentence that refuses the folder; "" when every weight is exactly right."""
    try:
        for stem, linear in quantized(open_source(folder.write(path))).items():
            weight = folder.cases[stem].weight
            assert_same_bits(linear.load_dense(), weight, stem)
            if linear.native is not None:
                assert_same_bits(dequantize(linear.load_native()), weight, stem)
    except AppError as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"checkpoint_format": "marlin"}, "in the layout marlin is not supported"),
        ({"is_marlin_format": True}, "in the layout marlin is not supported"),
        ({"format": "bitblas"}, "in the layout bitblas is not supported"),
        ({"rotation": "hadamard"}, "GPTQ with rotation is not supported"),
        ({"adapter": {"rank": 8}}, "GPTQ with adapter is not supported"),
        ({"activation": {"mode": "int8"}}, "GPTQ with activation is not supported"),
        ({"pack_dtype": "int16"}, "packed into int16 words is not supported"),
    ],
)
def test_refused_by_name(table: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        open_source(create_folder(table=table).write(tmp_path / "hf"))


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ({"bits": 9}, "gives 9 as the bits"),
        ({"bits": "4"}, "gives '4' as the bits"),
        ({"bits": None}, "gives None as the bits"),
        ({"group_size": 0}, "gives 0 as the group size"),
        ({"dynamic": {"+:(": {}}}, r"holds '\(', which is not a regular expression"),
        ({"dynamic": ["a"]}, "is not a JSON object"),
        ({"dynamic": {"-:.*up_proj": {}}}, "says that .*up_proj is not quantized, but it is"),
        ({"dynamic": {".*up_proj": {"bits": 12}}}, "gives 12 as the bits"),
        ({"format": "gptq", "checkpoint_format": "gptq_v2"}, "both gptq, gptq_v2"),
        ({"bits": 3}, "mis-shaped .*qweight"),
        ({"bits": 8}, "mis-shaped .*qweight"),
        ({"group_size": 64}, "mis-shaped .*"),
        ({"group_size": -1}, "mis-shaped .*"),
    ],
)
def test_labels_that_cannot_be_meant(table: dict[str, Any], reason: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidSourceError, match=reason):
        open_source(create_folder(table=table).write(tmp_path / "hf"))


def test_dense_tensors_under_a_quantized_label(tmp_path: Path) -> None:
    """NVIDIA/Model-Optimizer#2070: no second quantization of what is dense."""
    folder = create_folder()
    for stem, case in folder.cases.items():
        for name in ("qweight", "qzeros", "scales", "g_idx"):
            del folder.tensors[f"{stem}.{name}"]
        folder.tensors[f"{stem}.weight"] = case.weight
    with pytest.raises(InvalidSourceError, match="says gptq, but the tensors are all dense"):
        open_source(folder.write(tmp_path / "hf"))


def test_awq_shapes_under_the_label_gptq(tmp_path: Path) -> None:
    folder = create_folder(with_g_idx=False)
    for stem, case in folder.cases.items():
        rows, columns = case.weight.shape
        folder.tensors[f"{stem}.qweight"] = np.zeros((columns, rows // 8), np.int32)
    with pytest.raises(InvalidSourceError, match=r"says GPTQ, but the shapes .* are AWQ's"):
        open_source(folder.write(tmp_path / "hf"))


def test_input_embeddings_are_refused_by_name(tmp_path: Path) -> None:
    folder = create_folder()
    weight = folder.tensors.pop("model.embed_tokens.weight")
    folder.tensors["model.embed_tokens.qweight"] = np.zeros((weight.shape[0] // 8, 64), np.int32)
    with pytest.raises(UnsupportedError, match="input embeddings are not supported"):
        open_source(folder.write(tmp_path / "hf"))


def _mutations() -> dict[str, Callable[[GptqFolder], None]]:
    def set_tensor(name: str, change: Callable[[Any], Any]) -> Callable[[GptqFolder], None]:
        def mutate(folder: GptqFolder) -> None:
            key = f"{STEM}.{name}"
            folder.tensors[key] = np.ascontiguousarray(change(folder.tensors[key].copy()))

        return mutate

    def poison(value: float) -> Callable[[Any], Any]:
        def change(array: Any) -> Any:
            array[-1, -1] = value
            return array

        return change

    mutations: dict[str, Callable[[GptqFolder], None]] = {}
    for name in ("qweight", "qzeros", "scales", "g_idx"):
        mutations[f"{name} turned"] = set_tensor(name, lambda array: array.reshape(1, -1))
        mutations[f"{name} cut"] = set_tensor(name, lambda array: array[:-1])
        mutations[f"{name} int64"] = set_tensor(name, lambda array: array.astype(np.int64))
        mutations[f"{name} missing"] = lambda folder, key=name: folder.tensors.pop(f"{STEM}.{key}")
    for value in (np.nan, np.inf, -np.inf):
        mutations[f"scale {value}"] = set_tensor("scales", poison(value))
    for value in (-1, 3, 1 << 30):
        mutations[f"g_idx {value}"] = set_tensor(
            "g_idx", lambda array, value=value: np.where(array == array[5], value, array)
        )
    mutations["g_idx uneven"] = set_tensor("g_idx", lambda array: np.where(array > 1, 1, array))
    mutations["zero point flipped"] = set_tensor("qzeros", lambda array: array ^ 1 << 9)
    mutations["a dense weight too"] = lambda folder: folder.tensors.update(
        {f"{STEM}.weight": folder.cases[STEM].weight}
    )
    mutations["a bias that is not zero"] = lambda folder: folder.tensors.update(
        {f"{STEM}.bias": np.ones(64, np.float16)}
    )
    mutations["sym flipped"] = lambda folder: folder.table.update(sym=not folder.table["sym"])
    mutations["v2 label"] = lambda folder: folder.table.update(checkpoint_format="gptq_v2")
    mutations["no method"] = lambda folder: folder.table.pop("quant_method")
    mutations["awq label"] = lambda folder: folder.table.update(quant_method="awq")
    return mutations


MUTATIONS = _mutations()
# What still decodes to the truth: under a label that symmetric data overrules.
RIGHT = {
    "sym": {"sym flipped", "v2 label"},
    "asym": set[str](),
}


@pytest.mark.parametrize("sym", [True, False], ids=["sym", "asym"])
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_mutations(mutation: str, sym: bool, tmp_path: Path) -> None:
    folder = create_folder(sym=sym, table={"meta": {"quantizer": "auto_gptq:0.7"}})
    MUTATIONS[mutation](folder)
    if mutation == "v2 label" and not sym:  # what stands in the file is then one less, everywhere
        for case in folder.cases.values():
            case.zeros[:] -= 1
        assert refused_or_right(folder, tmp_path / "hf") == ""
        return
    sentence = refused_or_right(folder, tmp_path / "hf")
    assert "\n" not in sentence
    assert sentence.endswith(".") or not sentence
    assert (sentence == "") == (mutation in RIGHT["sym" if sym else "asym"]), sentence


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = create_folder().write(tmp_path / "hf")
    file = path / "model.safetensors"
    data = file.read_bytes()
    for size in (len(data) - 1, len(data) // 2, 100, 8, 3):
        file.write_bytes(data[:size])
        with pytest.raises(InvalidSourceError, match=r"model\.safetensors"):
            open_source(path)


def test_a_model_of_square_linears_alone(tmp_path: Path) -> None:
    """GPTQ and AWQ differ by shape only where a linear is not square; the label then decides."""
    assert refused_or_right(create_folder(model=SQUARE), tmp_path / "hf") == ""

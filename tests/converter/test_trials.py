"""Faults that users of other programs met (public bug reports), where no other module has them.

Each test names the reports whose class of fault it holds.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.converter.gguf_tokenizer import build_tokenizer_files
from app.converter.pipeline import convert
from app.converter.sources.detect import open_source
from app.converter.sources.linear_formats import FOLDER_FORMATS
from app.core.errors import InvalidSourceError, UnsupportedError
from app.engine.executors.base import LogitsWanted, SequenceChunk
from benchmarks.folder_encoders import ENCODERS
from tests.converter.gptq_encoder import random_case
from tests.converter.gptq_folder import create_folder
from tests.converter.test_autoround import autoround_folder
from tests.converter.test_dense_source import hf_config, hf_tensors, write_folder
from tests.converter.test_fp8 import library_decode
from tests.converter.test_fused_folders import FUSED, ROWS, phi3_tensors
from tests.converter.test_fused_folders import write as write_phi3
from tests.converter.test_gptq import check_exact
from tests.converter.test_llama_cpp import decoded_by_gguf
from tests.engine.test_reference_executor import create_reference
from tests.families.hybrid_cases import CASES as HYBRID_CASES
from tests.family_models import expected_logits, reference_logits
from tests.family_models import write_folder as write_family_folder
from tests.gguf_factory import Floats, TinyModel, gguf_name, to_gguf_tensors, write_gguf
from tests.quantized_folders import FIXTURES, check_rows
from tests.spec.test_gguf_config import llama3_divisors

# vllm#7268, mlxcel#1355, llama.cpp#8676 ---------------------------------------------------------

_LONG = TinyModel(
    "llama", hidden=64, heads=2, kv_heads=1, head_dim=32, layers=1, tied=True, rope_theta=5e5,
    metadata={"llama.context_length": 16384},
)  # fmt: skip
_POSITION, _CHUNK = 9000, 600
_LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 5e5,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def logits_at_the_end(checkpoint: Path, token_ids: npt.NDArray[np.int32]) -> Floats:
    executor = create_reference(checkpoint, max_model_len=len(token_ids))
    for start in range(0, len(token_ids), _CHUNK):
        piece = token_ids[start : start + _CHUNK]
        (logits,) = executor.step([SequenceChunk(0, start, piece, LogitsWanted.LAST)])
    return np.asarray(logits[-1])


def logits_of_transformers(weights: dict[str, Floats], token_ids: npt.NDArray[np.int32]) -> Floats:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    settings = hf_config(_LONG) | {"max_position_embeddings": 16384}
    del settings["rope_theta"]
    model = LlamaForCausalLM(LlamaConfig(**settings, rope_parameters=_LLAMA3_ROPE)).eval()
    state = {f"model.{name}.weight": torch.from_numpy(w) for name, w in weights.items()}
    model.load_state_dict(state, strict=False)
    with torch.no_grad():
        last = model(torch.from_numpy(token_ids[None].astype(np.int64)), logits_to_keep=1)
    return np.asarray(last.logits[0, -1].numpy())


def test_rope_freqs_count_at_position_9000(tmp_path: Path) -> None:
    """Short prompts look fine without the tensor; so the logits far behind them are compared."""
    weights = {name: weight * 3 for name, weight in _LONG.weights().items()}
    tensors = to_gguf_tensors(_LONG, weights)
    divisors = llama3_divisors(5e5, _LONG.head_dim, 8.0)
    token_ids = np.random.default_rng(9).integers(0, 256, _POSITION + 1).astype(np.int32)
    found = {}
    for name, extra in (("with", {"rope_freqs.weight": divisors}), ("without", {})):
        path = write_gguf(tmp_path / f"{name}.gguf", _LONG, tensors | extra)
        convert(path, tmp_path / name, grid="dense")
        found[name] = logits_at_the_end(tmp_path / name, token_ids)
    wanted = logits_of_transformers(weights, token_ids)
    np.testing.assert_allclose(found["with"], wanted, atol=1e-5)
    assert np.abs(found["without"] - wanted).max() > 0.1


# mlx-vlm#1548/#1521, mlx-swift-lm#403/#598 ------------------------------------------------------


def as_mlx_saves(folder: Path) -> None:
    """What mlx-lm's `sanitize` makes of Qwen3-Next and Qwen3.5 when it loads them."""
    stacks: dict[str, list[Floats]] = {}
    tensors: dict[str, Floats] = {}
    for name, values in load_file(folder / "model.safetensors").items():
        stem, is_expert, rest = name.partition(".experts.")
        if is_expert:
            stacks.setdefault(f"{stem}.switch_mlp.{rest.split('.', 1)[1]}", []).append(values)
        elif name.endswith("conv1d.weight"):
            tensors[name] = np.ascontiguousarray(np.moveaxis(values, 2, 1))
        elif name.endswith("norm.weight") and "linear_attn" not in name:
            tensors[name] = values + np.float32(1)
        else:
            tensors[name] = values
    tensors |= {name: np.stack(experts) for name, experts in stacks.items()}
    save_file(tensors, folder / "model.safetensors")


@pytest.mark.parametrize("name", ["qwen3 next", "qwen3.5", "qwen3.5 moe"])
def test_norms_that_mlx_has_shifted_are_not_shifted_again(name: str, tmp_path: Path) -> None:
    """The axis that its convolution has moved tells them apart from Hugging Face's."""
    case = next(case for case in HYBRID_CASES if case.name == name)
    folder = write_family_folder(case, tmp_path / "hf")
    convert(folder, tmp_path / "from_hf", grid="dense")
    as_mlx_saves(folder)
    convert(folder, tmp_path / "from_mlx", grid="dense")
    with Checkpoint.open(tmp_path / "from_hf") as hf, Checkpoint.open(tmp_path / "from_mlx") as mlx:
        for vector in ("norm", "layers.0.input_layernorm", "layers.1.self_attn.q_norm"):
            np.testing.assert_allclose(mlx.vector(vector), hf.vector(vector), rtol=0, atol=1e-6)
        for vector in ("layers.0.linear_attn.norm", "layers.0.linear_attn.conv1d"):
            np.testing.assert_array_equal(mlx.vector(vector), hf.vector(vector))
    got = reference_logits(tmp_path / "from_mlx")
    np.testing.assert_allclose(got, expected_logits(case), rtol=0, atol=1e-4)


# intel/auto-round#2273 --------------------------------------------------------------------------


def test_negative_scales_of_symmetric_autoround_are_exact(tmp_path: Path) -> None:
    """Its full-range grid makes the scale negative where the extreme weight is positive."""
    folder = autoround_folder("auto_round:auto_gptq", sym=True)
    for stem, case in folder.cases.items():
        negative = replace(case, scales=-np.abs(case.scales))
        folder.cases[stem] = negative
        folder.tensors[f"{stem}.scales"] = negative.scales
    assert check_exact(folder, tmp_path / "hf").notes == ()


# NVIDIA/Model-Optimizer#2070 --------------------------------------------------------------------


@pytest.mark.parametrize("method", [name for name in FOLDER_FORMATS if name != "dense"])
def test_a_declaration_over_dense_tensors_shows_both_facts(method: str, tmp_path: Path) -> None:
    """And nothing is quantized a second time."""
    model = TinyModel("llama")
    table = {"quant_method": method, "bits": 4, "group_size": 32}
    key = "quantization" if method == "mlx" else "quantization_config"
    folder = write_folder(tmp_path / "hf", model, hf_tensors(model), **{key: table})
    with pytest.raises(
        InvalidSourceError, match=f"{key} says {method}, but the tensors are all dense"
    ):
        convert(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


# transformers#31630, vllm#12985, llama.cpp#23252, llama.cpp#7271 --------------------------------


def llama3_vocabulary(**changes: Any) -> dict[str, Any]:
    """Digits, and every number that a wrong split of 1234 would find."""
    tokens = [*"1234", "12", "34", "123", "1234", "<|end_of_text|>", "<|eot_id|>"]
    values = {
        "model": "gpt2",
        "pre": "llama-bpe",
        "tokens": tokens,
        "token_type": [1] * 8 + [3] * 2,
        "merges": ["1 2", "3 4", "12 3", "12 34"],
        "eos_token_id": 8,
        "add_bos_token": False,
    }
    return {f"tokenizer.ggml.{key}": value for key, value in (values | changes).items()}


def test_llama_3_ends_at_both_tokens_and_cuts_numbers_by_three() -> None:
    files = build_tokenizer_files(llama3_vocabulary(), {}, "tiny.gguf")
    assert json.loads(files["generation_config.json"])["eos_token_id"] == [8, 9]
    assert Tokenizer.from_str(files["tokenizer.json"]).encode("1234").tokens == ["123", "4"]


def test_without_a_split_that_has_a_name_it_is_refused() -> None:
    metadata = llama3_vocabulary()
    del metadata["tokenizer.ggml.pre"]
    with pytest.raises(UnsupportedError, match="does not name its pre-tokenizer"):
        build_tokenizer_files(metadata, {}, "tiny.gguf")


# vllm#53170, TensorRT-LLM#3324, Qwen3-VL-Embedding#89 -------------------------------------------


def test_a_quantized_head_beside_the_flag_that_ties_it_is_refused(tmp_path: Path) -> None:
    """A dense one is used (test_dense_source.py); of this one nobody knows which is meant."""
    folder = create_folder(model=TinyModel("llama", hidden=64, inner=96, tied=True))
    head = random_case((folder.model.vocab, folder.model.hidden), seed=5)
    folder.tensors |= {f"lm_head.{name}": array for name, array in head.arrays().items()}
    with pytest.raises(InvalidSourceError, match=r"unexpected lm_head\.g_idx"):
        open_source(folder.write(tmp_path / "hf"))


# sglang#35703 ------------------------------------------------------------------------------------


def test_fused_fp8_is_dequantized_before_it_is_split(tmp_path: Path) -> None:
    """Queries, keys and values end inside blocks of 128 rows, whose scales they share."""
    encoder = ENCODERS["FP8, blocks of 128 x 128"]
    tensors, wanted = phi3_tensors(), {}
    for index, (name, shape) in enumerate(FUSED.items()):
        weight = np.random.default_rng(index).standard_normal(shape).astype(np.float32)
        weight *= np.linspace(0.1, 3, shape[0], dtype=np.float32)[:, None]
        arrays = encoder.encode(weight)
        wanted[name] = library_decode(arrays["weight"], arrays["weight_scale_inv"], [128, 128])
        for layer in range(2):
            stem = f"model.layers.{layer}.{name}"
            tensors |= {f"{stem}.{suffix}": array for suffix, array in arrays.items()}
    folder = write_phi3(tmp_path / "hf", tensors, **encoder.config)
    linears = {n.name: n for part in open_source(folder).parts() for n in part.linears}
    for short, (name, rows) in ROWS.items():
        for layer in range(2):
            linear = linears[f"layers.{layer}.{short}"]
            np.testing.assert_array_equal(linear.load_dense(), wanted[name][rows], short)
            check_rows(linear)


# hipfire#634, llama.cpp#1691, llama.cpp#1787, ds4#621 -------------------------------------------


def test_q4_k_m_becomes_another_grid_only_when_asked_and_says_what_it_costs(tmp_path: Path) -> None:
    source = FIXTURES / "llama_cpp" / "Q4_K_M.gguf"
    assert convert(source, tmp_path / "auto").lossless
    report = convert(source, tmp_path / "w4", grid="w4")
    assert not report.lossless
    wanted = decoded_by_gguf(source)
    document = json.loads((tmp_path / "w4" / "conversion_report.json").read_text(encoding="utf-8"))
    told = {row["name"]: row["rel_err"] for row in document["tensors"]}
    with Checkpoint.open(tmp_path / "w4") as checkpoint:
        for name in checkpoint.manifest.linears:
            weight, found = wanted[gguf_name(name)], dequantize(checkpoint.linear(name))
            measured = np.linalg.norm(found - weight) / np.linalg.norm(weight)
            assert ("_proj" not in name) or measured > 0.05
            assert told[name] == pytest.approx(measured, rel=1e-4)
    assert [layer["part"] for layer in document["layers"]] == ["embed", "layer_00"]

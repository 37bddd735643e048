"""GGUF files with experts: three-dimensional tensors cut into linears, bit for bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from app.checkpoint.reader import Checkpoint
from app.checkpoint.reference_quant import dequantize
from app.checkpoint.schemes import TensorPath
from app.converter.pipeline import convert
from app.converter.sources.base import SourceLinear
from app.converter.sources.detect import open_source
from app.core.errors import AppError
from tests.gguf_factory import Floats, Q, permute, random_blocks, tokenizer_metadata
from tests.moe_folders import GPT_OSS, MIXTRAL, NUM_EXPERTS, QWEN3_MOE, random_weights

_VOCAB, _HIDDEN, _INNER, _EXPERT = 288, 256, 512, 256
_STACKS = {"gate_proj": "ffn_gate_exps", "up_proj": "ffn_up_exps", "down_proj": "ffn_down_exps"}
_COMMON = {
    "block_count": 1,
    "context_length": 256,
    "embedding_length": _HIDDEN,
    "feed_forward_length": _INNER,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "attention.key_length": 64,
    "attention.value_length": 64,
    "attention.layer_norm_rms_epsilon": 1e-5,
    "rope.freq_base": 10000.0,
    "expert_count": NUM_EXPERTS,
    "expert_used_count": 2,
}
_METADATA: dict[str, dict[str, Any]] = {
    "llama": _COMMON,
    "qwen3moe": {**_COMMON, "expert_feed_forward_length": _EXPERT},
    "gpt-oss": {
        **_COMMON,
        "expert_feed_forward_length": _EXPERT,
        "attention.sliding_window": 9,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 8.0,
        "rope.scaling.original_context_length": 32,
    },
}
Tensors = dict[str, tuple[Any, Q]]


def _shapes(architecture: str) -> dict[str, tuple[int, ...]]:
    """Tensors of float32 besides the experts."""
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (_VOCAB, _HIDDEN),
        "output.weight": (_VOCAB, _HIDDEN),
        "output_norm.weight": (_HIDDEN,),
        "blk.0.attn_norm.weight": (_HIDDEN,),
        "blk.0.attn_q.weight": (256, _HIDDEN),
        "blk.0.attn_k.weight": (128, _HIDDEN),
        "blk.0.attn_v.weight": (128, _HIDDEN),
        "blk.0.attn_output.weight": (_HIDDEN, 256),
        "blk.0.ffn_norm.weight": (_HIDDEN,),
        "blk.0.ffn_gate_inp.weight": (NUM_EXPERTS, _HIDDEN),
    }
    if architecture == "qwen3moe":
        shapes |= {f"blk.0.attn_{n}_norm.weight": (64,) for n in "qk"}
    if architecture == "gpt-oss":
        shapes["blk.0.post_attention_norm.weight"] = shapes.pop("blk.0.ffn_norm.weight")
        sizes = {"attn_q": 256, "attn_k": 128, "attn_v": 128, "attn_output": _HIDDEN}
        shapes |= {f"blk.0.{n}.bias": (size,) for n, size in sizes.items()}
        shapes |= {"blk.0.attn_sinks.weight": (4,), "blk.0.ffn_gate_inp.bias": (NUM_EXPERTS,)}
        biases = {"ffn_gate_exps": _EXPERT, "ffn_up_exps": _EXPERT, "ffn_down_exps": _HIDDEN}
        shapes |= {f"blk.0.{n}.bias": (NUM_EXPERTS, size) for n, size in biases.items()}
    return shapes


def _expert_shape(architecture: str, short: str) -> tuple[int, int]:
    inner = _INNER if architecture == "llama" else _EXPERT
    return (_HIDDEN, inner) if short == "down_proj" else (inner, _HIDDEN)


def random_tensors(architecture: str, kind: Q) -> Tensors:
    """By GGUF name: data and type; experts are random blocks of `kind` [experts, rows, bytes]."""
    rng = np.random.default_rng(1)
    shapes = _shapes(architecture)
    tensors: Tensors = {n: (random_weights(s, rng), Q.F32) for n, s in shapes.items()}
    for short, name in _STACKS.items():
        rows, columns = _expert_shape(architecture, short)
        blocks = random_blocks(kind, NUM_EXPERTS * rows, columns, rng)
        tensors[f"blk.0.{name}.weight"] = (blocks.reshape(NUM_EXPERTS, rows, -1), kind)
    return tensors


def write(path: Path, architecture: str, tensors: Tensors, **changes: Any) -> Path:
    """`changes` are to the metadata; None drops a key."""
    writer = gguf.GGUFWriter(path, architecture)
    keys = _METADATA[architecture] | changes
    metadata = {f"{architecture}.{name}": value for name, value in keys.items()}
    for key, value in (metadata | tokenizer_metadata(_VOCAB)).items():
        _add(writer, key, value)
    for name, (data, kind) in tensors.items():
        writer.add_tensor(name, np.ascontiguousarray(data), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, list):
        writer.add_array(key, value)
    elif value is not None:
        kinds = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32}
        kinds.get(type(value), writer.add_string)(key, value)


def linears_of(path: Path) -> dict[str, SourceLinear]:
    parts = open_source(path).parts()
    return {linear.name: linear for part in parts for linear in part.linears}


def decoded(tensors: Tensors, short: str) -> Floats:
    """A stack [experts, rows, in] as gguf decodes it."""
    data, kind = tensors[f"blk.0.{_STACKS[short]}.weight"]
    return np.asarray(gguf.quants.dequantize(data, kind), np.float32)


_KINDS = [Q.Q4_K, Q.MXFP4, Q.Q6_K, Q.Q4_0, Q.Q8_0]


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("architecture", ["qwen3moe", "gpt-oss"])
def test_experts_are_stored_bit_for_bit(architecture: str, kind: Q, tmp_path: Path) -> None:
    tensors = random_tensors(architecture, kind)
    path = write(tmp_path / "model.gguf", architecture, tensors)
    assert convert(path, tmp_path / "out", verify_whole=True).lossless
    with Checkpoint.open(tmp_path / "out") as checkpoint:
        for short in _STACKS:
            stack = decoded(tensors, short)
            for expert in range(NUM_EXPERTS):
                name = f"layers.0.mlp.experts.{expert}.{short}"
                record = checkpoint.manifest.linears[name]
                assert record.provenance.path is TensorPath.EXACT
                assert record.provenance.source_type == kind.name
                found = dequantize(checkpoint.linear(name))
                np.testing.assert_array_equal(found.view(np.uint32), stack[expert].view(np.uint32))
        router = checkpoint.linear("layers.0.mlp.router")
        np.testing.assert_array_equal(router.weight, tensors["blk.0.ffn_gate_inp.weight"][0])


def test_biases_of_experts_are_cut_likewise(tmp_path: Path) -> None:
    tensors = random_tensors("gpt-oss", Q.MXFP4)
    linears = linears_of(write(tmp_path / "model.gguf", "gpt-oss", tensors))
    for short, stem in _STACKS.items():
        for expert in range(NUM_EXPERTS):
            load_bias = linears[f"layers.0.mlp.experts.{expert}.{short}"].load_bias
            assert load_bias is not None
            np.testing.assert_array_equal(load_bias(), tensors[f"blk.0.{stem}.bias"][0][expert])


def test_mixtral_of_early_2024_has_a_tensor_for_each_expert(tmp_path: Path) -> None:
    stacked = random_tensors("llama", Q.Q4_0)
    apart = dict(stacked)
    for stem in _STACKS.values():
        data, kind = apart.pop(f"blk.0.{stem}.weight")
        name = stem.removesuffix("_exps")
        apart |= {f"blk.0.{name}.{e}.weight": (data[e], kind) for e in range(NUM_EXPERTS)}
    old = linears_of(write(tmp_path / "old.gguf", "llama", apart))
    new = linears_of(write(tmp_path / "new.gguf", "llama", stacked))
    assert old.keys() == new.keys()
    for name, linear in new.items():
        np.testing.assert_array_equal(old[name].load_dense(), linear.load_dense(), name)
    query = stacked["blk.0.attn_q.weight"][0]
    np.testing.assert_array_equal(permute(new["layers.0.self_attn.q_proj"].load_dense(), 4), query)


def test_the_configuration_is_the_familys_own(tmp_path: Path) -> None:
    """What the file does not say is a fact of the architecture."""
    wanted = {"llama": MIXTRAL, "qwen3moe": QWEN3_MOE, "gpt-oss": GPT_OSS}
    for architecture, family in wanted.items():
        tensors = random_tensors(architecture, Q.Q8_0)
        config = open_source(write(tmp_path / architecture, architecture, tensors)).config
        for key in ("architectures", "model_type", "num_experts_per_tok"):
            assert config[key] == family[key]
        assert config["num_experts"] == NUM_EXPERTS
    assert config["rope_parameters"]["truncate"] is False
    assert config["sliding_window"] == 9


_REFUSALS: dict[str, tuple[str, dict[str, Any], str]] = {
    "routing that the architecture never had": (
        "qwen3moe",
        {"expert_gating_func": 2},
        "expert_gating_func: 2 is not known",
    ),
    "scaled weights": ("qwen3moe", {"expert_weights_scale": 2.5}, "expert_weights_scale"),
    "Mixtral without normalized weights": (
        "llama",
        {"expert_weights_norm": False},
        "expert_weights_norm",
    ),
    "another pattern of windows": (
        "gpt-oss",
        {"attention.sliding_window_pattern": 4},
        "sliding_window_pattern",
    ),
    "more experts than the stacks hold": (
        "qwen3moe",
        {"expert_count": NUM_EXPERTS + 1},
        "mis-shaped blk.0.ffn_down_exps",
    ),
    "no number of experts": ("qwen3moe", {"expert_count": None}, "no qwen3moe.expert_count"),
    "more experts for a token than there are": (
        "qwen3moe",
        {"expert_used_count": NUM_EXPERTS + 1},
        r"num_experts_per_tok \(5\) must be 1 to",
    ),
}


@pytest.mark.parametrize("case", _REFUSALS)
def test_what_cannot_be_is_refused(case: str, tmp_path: Path) -> None:
    architecture, changes, message = _REFUSALS[case]
    tensors = random_tensors(architecture, Q.Q8_0)
    path = write(tmp_path / "model.gguf", architecture, tensors, **changes)
    with pytest.raises(AppError, match=message):
        open_source(path)

"""Model families as cases: a tiny transformers model, and how llama.cpp would store it.

A new family is one entry of a list of `FamilyCase`. GGUF names come from gguf's own table of
Hugging Face names; what llama.cpp's converter does besides is said by the case.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import numpy.typing as npt
from safetensors.numpy import load_file

from app.checkpoint.reader import Checkpoint
from app.engine.executors.base import Executor, LogitsWanted, SequenceChunk
from app.engine.executors.cpu import CpuExecutor
from app.engine.executors.reference import ReferenceExecutor
from app.spec.registry import create_spec
from tests.gguf_factory import Floats, permute, write_tensors
from tests.tiny_models import create_tiny_model, tokenizer_files

NUM_TOKENS = 60
TOKENS = np.random.default_rng(5).integers(3, 97, NUM_TOKENS).astype(np.int32)
Tensors = dict[str, Floats]
Config = Mapping[str, Any]


def unchanged(config: Config, tensors: Tensors) -> Tensors:
    """No transform."""
    return tensors


def nothing(config: Config) -> dict[str, Any]:
    """No further metadata."""
    return {}


@dataclass(frozen=True)
class GgufLayout:
    """What llama.cpp's converter does to a model of this architecture.

    `metadata`: keys beside the sizes, without the leading `<architecture>.`; None drops a key.
    `permuted`: rows of q and k pair by pair. `norm_offset` is added to norm weights. `transform`
    changes the stored Hugging Face tensors before they are named; `extra` are GGUF tensors that no
    stored tensor becomes.
    """

    architecture: str
    metadata: Callable[[Config], dict[str, Any]] = nothing
    permuted: bool = False
    norm_offset: float = 0.0
    transform: Callable[[Config, Tensors], Tensors] = unchanged
    extra: Callable[[Config], Tensors] = nothing


def as_saved(folder: Path) -> None:
    """transformers writes what the family publishes."""


def as_filled(model: Any) -> None:
    """Random weights as they are."""


@dataclass(frozen=True, eq=False)
class FamilyCase:
    """One tiny model: `changes` are to the configuration of tests.tiny_models.BASE.

    `cpu_refusal` is a pattern of the cpu executor's refusal while its kernels lack a feature.
    `prepare` changes the model's random weights in place. `publish` makes of the folder that
    transformers wrote one as the family's authors write it.
    """

    name: str
    model_type: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    gguf: GgufLayout | None = None
    prepare: Callable[[Any], None] = as_filled
    publish: Callable[[Path], None] = as_saved
    cpu_refusal: str = ""

    def __str__(self) -> str:
        return self.name


@cache
def tiny_model(case: FamilyCase) -> Any:
    """The transformers model, made once. Tests must not change it."""
    model = create_tiny_model(case.model_type, **case.changes)
    case.prepare(model)
    return model


@cache
def expected_logits(case: FamilyCase) -> npt.NDArray[np.float32]:
    """transformers' logits of all TOKENS [n, vocab_size], in one pass."""
    import torch

    with torch.no_grad():
        output = tiny_model(case)(torch.from_numpy(TOKENS[None].astype(np.int64)), use_cache=False)
    return np.asarray(output.logits[0])


def write_folder(case: FamilyCase, directory: Path) -> Path:
    """What `save_pretrained` writes, and a tokenizer."""
    tiny_model(case).save_pretrained(directory)
    case.publish(directory)
    for name, content in tokenizer_files().items():
        (directory / name).write_text(content, encoding="utf-8")
    return directory


def write_family_gguf(layout: GgufLayout, folder: Path, path: Path) -> Path:
    """The model of a Hugging Face folder as llama.cpp's converter would write it, float32."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= config.get("text_config", {})
    stored: Tensors = load_file(folder / "model.safetensors")
    architecture = next(
        kind for kind, name in gguf.MODEL_ARCH_NAMES.items() if name == layout.architecture
    )
    names = gguf.get_tensor_name_map(architecture, config["num_hidden_layers"])
    tensors = {}
    for name, values in layout.transform(config, stored).items():
        ours = names.get_name(name, try_suffixes=(".weight", ".bias"))
        assert ours, f"gguf knows no name for {name}"
        tensors[ours] = _stored_values(layout, config, name, values)
    keys = sizes(config) | layout.metadata(config)
    metadata = {f"{layout.architecture}.{key}": value for key, value in keys.items()}
    return write_tensors(path, layout.architecture, metadata, tensors | layout.extra(config))


def sizes(config: Config) -> dict[str, Any]:
    """The metadata that every decoder has; gguf-py's names, without the architecture."""
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    return {
        "block_count": config["num_hidden_layers"],
        "context_length": config["max_position_embeddings"],
        "embedding_length": config["hidden_size"],
        "feed_forward_length": config["intermediate_size"],
        "attention.head_count": config["num_attention_heads"],
        "attention.head_count_kv": config["num_key_value_heads"],
        "attention.key_length": head_dim,
        "attention.value_length": head_dim,
        "rope.dimension_count": head_dim,
        "rope.freq_base": _theta(config),
        "vocab_size": config["vocab_size"],
        "attention.layer_norm_rms_epsilon": config.get("rms_norm_eps"),
    }


def stack_experts(tensors: Tensors, experts: str, parts: Mapping[str, str]) -> Tensors:
    """Per-expert matrices `<stem>.<experts>.<e>.<part>.weight` become one 3-D tensor.

    `parts` maps the folder's name of a part to the name under which gguf's table knows the stack.
    """
    stacked: dict[str, list[Floats]] = {}
    others: Tensors = {}
    for name, values in tensors.items():
        stem, found, rest = name.partition(f".{experts}.")
        if not found:
            others[name] = values
            continue
        _, part = rest.removesuffix(".weight").split(".")
        stacked.setdefault(f"{stem}.{parts[part]}.weight", []).append(values)
    return others | {name: np.stack(values) for name, values in stacked.items()}


def create_executor(kind: type[Executor], directory: Path, **options: Any) -> Executor:
    """The executor of a native folder, planned for TOKENS."""
    with Checkpoint.open(directory) as checkpoint:
        return kind(checkpoint, create_spec(checkpoint.config), NUM_TOKENS, **options)


def run(executor: Executor, size: int) -> npt.NDArray[np.float32]:
    """All logits of TOKENS, run in pieces of `size`."""
    pieces = [
        executor.step([SequenceChunk(0, i, TOKENS[i : i + size], LogitsWanted.ALL)])[0]
        for i in range(0, NUM_TOKENS, size)
    ]
    return np.concatenate(pieces)


def reference_logits(directory: Path, size: int = NUM_TOKENS) -> npt.NDArray[np.float32]:
    """What the reference executor says of a native folder."""
    return run(create_executor(ReferenceExecutor, directory), size)


def cpu_logits(directory: Path, size: int = NUM_TOKENS) -> npt.NDArray[np.float32]:
    """What the cpu executor says, with everything in float32 but the weights."""
    executor = create_executor(CpuExecutor, directory, num_threads=1, kv_dtype="fp32")
    try:
        return run(executor, size)
    finally:
        executor.close()


def _stored_values(layout: GgufLayout, config: Config, name: str, values: Floats) -> Floats:
    heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}
    short = name.split(".")[-2]
    if layout.permuted and short in heads:
        return permute(values, config[heads[short]])
    if name.endswith("norm.weight"):
        return values + np.float32(layout.norm_offset)
    return values


def _theta(config: Config) -> float:
    rope = config["rope_parameters"]
    return float(rope.get("full_attention", rope)["rope_theta"])

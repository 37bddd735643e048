"""Tiny random transformers models, and native dense checkpoints of them: the engine's ground truth.

transformers initializes biases with 0 and norms with 1; here every weight is random, so that
dropping one shows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import file_stem
from app.checkpoint.manifest import Provenance, SourceInfo
from app.checkpoint.schemes import Linear, TensorPath
from app.checkpoint.writer import CheckpointWriter, PartLinear

BASE: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "torch_dtype": "float32",
}

CHAT_TEMPLATE = (
    "<bos>{% for message in messages %}{{ message.role[0] }}:{{ message.content }}|{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}"
)


def create_tiny_model(model_type: str, seed: int = 0, **changes: Any) -> Any:
    """A transformers causal LM in eval mode, float32, eager attention."""
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.for_model(model_type, **{**BASE, **changes})
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model.config.architectures = [type(model).__name__]
    return fill_randomly(model, seed)


def fill_randomly(model: Any, seed: int = 0) -> Any:
    """Every stored number of a transformers model, norms around 1; returns it in eval mode."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    # The state, not the parameters: what corrects the choice of experts is a buffer.
    for name, weight in model.state_dict().items():
        is_norm = weight.ndim == 1 and "norm" in name
        weight.normal_(1.0 if is_norm else 0.0, 0.2, generator=generator)
    return model.eval().float()


def write_native(model: Any, directory: Path, config: dict[str, Any] | None = None) -> Path:
    """The model's weights as a dense native checkpoint; `config` replaces the model's own."""
    state = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings:
        del state["lm_head.weight"]
    return write_native_arrays(state, config or model.config.to_dict(), directory)


def write_chat_model(
    directory: Path, seed: int = 0, config: dict[str, Any] | None = None, **changes: Any
) -> Path:
    """A tiny Llama that speaks printable ASCII, with tokenizer and chat template.

    `changes` are to the network; `config` then changes what config.json says of it.
    """
    model = create_tiny_model("llama", seed, **changes)
    write_native(model, directory, {**model.config.to_dict(), **(config or {})})
    for name, content in tokenizer_files().items():
        (directory / name).write_text(content, encoding="utf-8")
    return directory


def tokenizer_files() -> dict[str, str]:
    """tokenizer.json and its configuration.

    One token per printable ASCII character, behind the special tokens of `BASE`.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    # Byte-level vocabularies write the space as U+0120.
    letters = ["\u0120", *(chr(code) for code in range(33, 126))]
    specials = ["<pad>", "<bos>", "<eos>"]
    vocab = {token: index for index, token in enumerate(specials + letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in specials])
    config = {"bos_token": "<bos>", "eos_token": "<eos>", "chat_template": CHAT_TEMPLATE}
    return {"tokenizer.json": tokenizer.to_str(), "tokenizer_config.json": json.dumps(config)}


def write_native_arrays(
    state: dict[str, npt.NDArray[np.float32]], config: dict[str, Any], directory: Path
) -> Path:
    """Hugging Face tensor names and float32 arrays -> a native folder with dense linears."""
    writer = CheckpointWriter()
    writer.begin(directory)
    linears, vectors = _split(state)
    for stem in dict.fromkeys(file_stem(name) for name in [*linears, *vectors]):
        writer.write_part(
            stem,
            {name: part for name, part in linears.items() if file_stem(name) == stem},
            {name: vector for name, vector in vectors.items() if file_stem(name) == stem},
        )
    writer.write_text("config.json", json.dumps(config))
    writer.finish(
        config["architectures"][0], SourceInfo("transformers", directory.name, 0), "tests"
    )
    return directory


def _split(
    state: dict[str, npt.NDArray[np.float32]],
) -> tuple[dict[str, PartLinear], dict[str, npt.NDArray[np.float32]]]:
    linears: dict[str, PartLinear] = {}
    vectors: dict[str, npt.NDArray[np.float32]] = {}
    for source_name, array in state.items():
        name = source_name.removeprefix("model.").removesuffix(".weight")
        if source_name.endswith(".bias"):
            continue
        if array.ndim == 1:
            vectors[name] = array
            continue
        bias = state.get(source_name.removesuffix("weight") + "bias")
        linear = Linear(array.shape, weight=array, bias=bias)
        provenance = Provenance(source_name, "F32", TensorPath.DENSE, 0.0)
        linears[name] = PartLinear(linear, provenance)
    return linears, vectors

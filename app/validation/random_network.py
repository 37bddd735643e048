"""A network with random weights: transformers' logits, its folder, and our checkpoint of that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.converter.pipeline import convert
from app.core.jobs import CancelToken
from app.validation.reference_model import ReferenceClass

Logits = npt.NDArray[np.float32]
Tokens = npt.NDArray[np.int32]
_SEED = 20
_SPREAD = 0.2  # of norms around 1, and of biases and other vectors around 0


@dataclass(frozen=True, slots=True)
class RandomNetwork:
    """`logits` float32 [kept, vocab_size] are transformers', of the last `kept` tokens."""

    checkpoint: Path
    tokens: Tokens
    logits: Logits


def create_network(
    reference: ReferenceClass,
    config: Mapping[str, Any],
    num_tokens: int,
    folder: Path,
    cancel: CancelToken,
    kept: int = 0,
) -> RandomNetwork:
    """transformers' module of `config` is filled, run, saved, and converted to the dense grid.

    Weights are numbers that bfloat16 holds, so that files are small and nothing is rounded. Raises
    what the conversion raises: its names and shapes are transformers', not ours.
    """
    model = reference.create_empty(config)
    model.tie_weights()
    _fill(model, cancel)
    tokens = _random_tokens(num_tokens, int(config["vocab_size"]))
    logits = reference_logits(model, tokens)[-kept:]
    cancel.check()
    _save(model, config, folder / "folder", cancel)
    del model
    convert(folder / "folder", folder / "native", grid="dense", cancel=cancel)
    return RandomNetwork(folder / "native", tokens, logits)


def reference_logits(model: Any, tokens: Tokens) -> Logits:
    """transformers' logits [n, vocab_size] of one pass without a cache."""
    import torch

    with torch.inference_mode():
        output = model(torch.from_numpy(tokens[None].astype(np.int64)), use_cache=False)
    return np.asarray(output.logits[0].float().numpy())


def _random_tokens(count: int, vocab_size: int) -> Tokens:
    return np.random.default_rng(_SEED).integers(3, vocab_size, count).astype(np.int32)


def _fill(model: Any, cancel: CancelToken) -> None:
    """Norm weights around 1, matrices so that what they make is as large as what they are given.

    Buffers that are stored count, too: they correct the choice of experts.
    """
    import torch

    generator = torch.Generator().manual_seed(_SEED)
    with torch.no_grad():
        for name, weight in model.state_dict().items():
            cancel.check()
            is_matrix = weight.ndim > 1
            bound = (3 / weight.shape[-1]) ** 0.5 if is_matrix else _SPREAD
            middle = 1.0 if not is_matrix and "norm" in name and "bias" not in name else 0.0
            weight.uniform_(middle - bound, middle + bound, generator=generator)
            weight.copy_(weight.bfloat16())


def _save(model: Any, config: Mapping[str, Any], folder: Path, cancel: CancelToken) -> None:
    """As published: under transformers' names, with the configuration's own spelling."""
    import torch

    model.to(torch.bfloat16)
    cancel.check()
    model.save_pretrained(folder)
    cancel.check()
    (folder / "config.json").write_text(json.dumps(dict(config)), encoding="utf-8")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")

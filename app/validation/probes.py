"""Parts of transformers' modules, asked by running them on numbers whose answer is known."""

from __future__ import annotations

import copy
import importlib
import math
from typing import Any

from app.core.sentence import Sentence
from app.validation.spec_facts import describe_norm, number

_NORM_COLUMNS_SEED = 3
# So small that eps counts.
_NORM_INPUT_SCALE = 3e-3
_TOLERANCE = 1e-5
_ANGLE = 0.3


def probe_norm(module: Any) -> tuple[str | None, str | None]:
    """(what a norm computes, its eps), by comparing with every norm that is known."""
    import torch

    eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    if eps is None or not hasattr(module, "weight"):
        return None, None
    norm = copy.deepcopy(module).to_empty(device="cpu").float()
    has_bias = getattr(norm, "bias", None) is not None
    size = norm.weight.shape[0]
    generator = torch.Generator().manual_seed(_NORM_COLUMNS_SEED)
    x = torch.randn(3, size, generator=generator) * _NORM_INPUT_SCALE
    with torch.no_grad():
        weight = norm.weight.copy_(torch.linspace(0.5, 1.5, size))
        bias = norm.bias.copy_(torch.linspace(-1, 1, size)) if has_bias else torch.zeros(size)
        got = norm(x)
        for kind in ("rms_norm", "layer_norm"):
            centred = x - x.mean(-1, keepdim=True) if kind == "layer_norm" else x
            unit = centred * torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + eps)
            for offset in (0.0, 1.0):
                if torch.allclose(got, unit * (weight + offset) + bias, atol=_TOLERANCE, rtol=1e-4):
                    return describe_norm(kind, has_bias, offset), number(eps)
    return Sentence("of no known kind"), number(eps)


def probe_activation(mlp: Any) -> str | None:
    """Which of the known activations an MLP applies; None where it does not show one."""
    import torch

    found = next(
        (
            getattr(part, name)
            for part in (mlp, getattr(mlp, "experts", None), getattr(mlp, "shared_expert", None))
            for name in ("act_fn", "activation_fn", "act")
            if callable(getattr(part, name, None))
        ),
        None,
    )
    if found is None:
        return None
    x = torch.linspace(-6, 6, 101)
    functional = torch.nn.functional
    known = {
        "silu": functional.silu(x),
        "gelu": functional.gelu(x),
        "gelu_pytorch_tanh": functional.gelu(x, approximate="tanh"),
        "relu": functional.relu(x),
        "relu2": functional.relu(x).square(),
    }
    try:
        got = found(x)
    except RuntimeError:  # it has weights of its own (Apertus)
        return Sentence("{type}, of no known kind", type=type(found).__name__)
    names = [name for name, want in known.items() if torch.allclose(got, want, atol=_TOLERANCE)]
    return names[0] if names else Sentence("{type}, of no known kind", type=type(found).__name__)


def probe_rope_pairs(attention: Any, config: Any) -> str | None:
    """Where the sine of the first column goes: to its neighbour, or to the other half."""
    if hasattr(config, "rope_interleave"):
        return Sentence("neighbours") if config.rope_interleave else Sentence("halves")
    module = importlib.import_module(type(attention).__module__)
    apply = getattr(module, "apply_rotary_pos_emb", None)
    if apply is None or hasattr(attention, "kv_b_proj"):
        return None
    import torch

    dim = 8
    unit = torch.zeros(1, 1, 1, dim)
    unit[..., 0] = 1
    # gpt-oss hands half of the table over.
    for columns in (dim, dim // 2):
        cos = torch.full((1, 1, columns), math.cos(_ANGLE))
        sin = torch.full((1, 1, columns), math.sin(_ANGLE))
        try:
            rotated, _ = apply(unit, unit, cos, sin)
        except (RuntimeError, TypeError, ValueError):
            continue
        # A table of half the columns may be taken for a partial rope.
        places = torch.nonzero(rotated[0, 0, 0, 1:].abs() > _TOLERANCE).flatten() + 1
        pairs = {1: Sentence("neighbours"), dim // 2: Sentence("halves")}
        if len(places) == 1 and int(places[0]) in pairs:
            return pairs[int(places[0])]
    return None

"""The smallest pieces of a decoder: a linear, a norm, an activation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from app.spec.model_spec import NormType

Tensor = torch.Tensor
functional = torch.nn.functional

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": functional.silu,
    "gelu": functional.gelu,
    "gelu_pytorch_tanh": partial(functional.gelu, approximate="tanh"),
}


@dataclass(frozen=True, slots=True)
class Linear:
    """weight [out, in], bias [out]."""

    weight: Tensor
    bias: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return functional.linear(x, self.weight, self.bias)


@dataclass(frozen=True, slots=True)
class Norm:
    """RMSNorm or LayerNorm over the last axis; the weight already has the spec's offset."""

    weight: Tensor
    bias: Tensor | None
    eps: float
    norm_type: NormType = NormType.RMS_NORM

    def __call__(self, x: Tensor) -> Tensor:
        """[..., n] -> [..., n]."""
        if self.norm_type is NormType.LAYER_NORM:
            return functional.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)
        mean_square = x.pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(mean_square + self.eps))


def identity(x: Tensor) -> Tensor:
    """Where a norm is absent."""
    return x


def softcap(x: Tensor, cap: float | None) -> Tensor:
    """cap * tanh(x / cap); x itself without a cap."""
    return x if cap is None else cap * torch.tanh(x / cap)

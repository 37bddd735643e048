"""Projections of a few rows, and the heads that they become in float64: normed, turned, scaled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.kernels.cuda_attention import Case, Floats, random_halfs

_EPS, _FACTOR, _SCALING_LENGTH = 1e-6, 1.2, 64


@dataclass(frozen=True)
class Turning:
    """What is done to heads: `norm` over each "head" or its whole "projection"; how many columns
    turn (None: all); `beta` by which queries of later positions grow."""

    norm: str = ""
    rotary_dim: int | None = None
    beta: float = 0.0


TURNINGS = {
    "plain": Turning(),
    "head norms": Turning("head"),
    "projection norms": Turning("projection"),
    "partial": Turning(rotary_dim=24),
    "no positions": Turning(rotary_dim=0),
    "scaled queries": Turning(beta=0.1),
}


class Heads:
    """Random ones of a case's rows."""

    def __init__(self, case: Case, turning: Turning, seed: int = 2) -> None:
        self._case, self._turning, rng = case, turning, np.random.default_rng(seed)
        dim = case.head_dim
        self.qkv = random_halfs(
            rng, len(case.positions), (case.num_heads + 2 * case.num_kv_heads) * dim
        )
        self._rotary_dim = dim if turning.rotary_dim is None else turning.rotary_dim
        exponents = np.arange(0, self._rotary_dim, 2) / max(self._rotary_dim, 1)
        self._inv_freq = (10000.0**-exponents).astype(np.float32)
        self._norms = {
            name: (1 + 0.1 * rng.standard_normal(self._norm_size(count))).astype(np.float32)
            for name, count in (("q_norm", case.num_heads), ("k_norm", case.num_kv_heads))
            if turning.norm
        }

    def _norm_size(self, num_heads: int) -> int:
        return self._case.head_dim * (num_heads if self._turning.norm == "projection" else 1)

    @property
    def fields(self) -> dict[str, Any]:
        """Of HeadArgs."""
        fields = {
            "qkv": self.qkv,
            "inv_freq": self._inv_freq if self._rotary_dim else np.zeros(4, np.float32),
            "num_heads": self._case.num_heads,
            "num_kv_heads": self._case.num_kv_heads,
            "rotary_dim": self._rotary_dim,
            "is_projection_norm": int(self._turning.norm == "projection"),
            "eps": _EPS,
            "cos_sin_factor": _FACTOR,
            "query_scaling_beta": self._turning.beta,
            "query_scaling_length": float(_SCALING_LENGTH),
            **self._norms,
        }
        return {f"heads.{name}": value for name, value in fields.items()}

    def expected(self, row: int) -> tuple[Floats, Floats, Floats]:
        """A row's queries, keys and values, [heads, head_dim] each."""
        case, position = self._case, self._case.positions[row]
        ends = [case.num_heads, case.num_heads + case.num_kv_heads]
        heads = self.qkv[row].astype(np.float64).reshape(-1, case.head_dim)
        queries, keys, values = np.split(heads, ends)
        scale = 1 + self._turning.beta * np.log1p(position // _SCALING_LENGTH)
        angles = position * self._inv_freq.astype(np.float64)
        turned = [
            rotate(self._normed(part, self._norms.get(name)), angles, _FACTOR)
            for part, name in ((queries, "q_norm"), (keys, "k_norm"))
        ]
        return turned[0] * scale, turned[1], values

    def _normed(self, heads: Floats, weight: Any) -> Floats:
        if weight is None:
            return heads
        axis = None if self._turning.norm == "projection" else -1
        mean = (heads**2).mean(axis=axis, keepdims=True)
        return heads / np.sqrt(mean + _EPS) * weight.astype(np.float64).reshape(-1, heads.shape[1])


def rotate(heads: Floats, angles: Floats, factor: float) -> Floats:
    """heads [n, head_dim]: column i with i + the number of angles."""
    half = len(angles)
    if half == 0:
        return heads
    first, second, rest = np.split(heads, [half, 2 * half], axis=1)
    cosine, sine = np.cos(angles) * factor, np.sin(angles) * factor
    return np.hstack([first * cosine - second * sine, second * cosine + first * sine, rest])

"""What the kernels compute, in plain NumPy: the oracle of their tests.

Every function works in the dtype of its inputs; tests pass float64. Formulas are those of
transformers' `models/llama/modeling_llama.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]


def linear(x: Floats, weight: Floats, bias: Floats | None = None) -> Floats:
    """x [n, in], decoded weight [out, in], bias [out] -> [n, out]."""
    y = x @ weight.T
    return y if bias is None else y + bias


def round_activations(x: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """x [n, in] as the int8 kernels see it: per 32 columns, codes times one step max |x| / 127.

    Steps and quotients are float32, as in the kernels, so that codes on a tie round the same way.
    """
    padded = np.pad(x, ((0, 0), (0, -x.shape[1] % 32))).reshape(len(x), -1, 32)
    largest = np.abs(padded).max(axis=-1, keepdims=True)
    inverse = np.divide(np.float32(127), largest, out=np.zeros_like(largest), where=largest > 0)
    codes = np.rint(padded * inverse)
    rounded = codes.astype(np.float64) * (largest / np.float32(127))
    return np.asarray(rounded.reshape(len(x), -1)[:, : x.shape[1]])


def rms_norm(x: Floats, weight: Floats, eps: float) -> Floats:
    """x [..., n] divided by its root mean square, times weight [n]."""
    return np.asarray(x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps) * weight)


def rope(x: Floats, positions: npt.NDArray[np.integer], inv_freq: Floats, factor: float) -> Floats:
    """Rotates the pairs (i, i + len(inv_freq)) of x [n, heads, head_dim]; further columns stay.

    `factor` multiplies cosines and sines. Angles are rounded to float32, as in training.
    """
    angles = positions.astype(np.float32)[:, None] * inv_freq.astype(np.float32)
    cos, sin = (f(angles.astype(x.dtype))[:, None, :] * factor for f in (np.cos, np.sin))
    half = len(inv_freq)
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin, rest], axis=-1)


def attention(
    queries: Floats,
    keys: Floats,
    values: Floats,
    positions: npt.NDArray[np.integer],
    sliding_window: int = 0,
) -> Floats:
    """Causal attention of queries [n, heads, head_dim] at `positions` [n] over a whole cache.

    keys, values [m, kv_heads, head_dim] at positions 0..m-1; consecutive heads share keys.
    `sliding_window` counts the keys a query sees, itself included; 0 is all.
    Returns [n, heads, head_dim].
    """
    num_shared = queries.shape[1] // keys.shape[1]
    keys, values = (np.repeat(array, num_shared, axis=1) for array in (keys, values))
    scores = np.einsum("nhd,mhd->hnm", queries, keys) * queries.shape[-1] ** -0.5
    distance = positions[:, None] - np.arange(len(keys))
    seen = (distance >= 0) & ((distance < sliding_window) | (sliding_window == 0))
    scores = np.where(seen, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.einsum("hnm,mhd->nhd", weights, values))


def silu_mul(gate: Floats, up: Floats) -> Floats:
    """silu(gate) * up with silu(g) = g / (1 + e^-g)."""
    return np.asarray(gate / (1 + np.exp(-gate)) * up)

"""What the kernels compute, in plain NumPy: the oracle of their tests.

Every function works in the dtype of its inputs; tests pass float64. Formulas are those of
transformers' `models/llama/modeling_llama.py`.
"""

from __future__ import annotations

import math

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


def layer_norm(x: Floats, weight: Floats, bias: Floats | None, eps: float) -> Floats:
    """x [..., n] with mean 0 and variance 1, times weight [n], plus bias [n]."""
    centered = x - x.mean(axis=-1, keepdims=True)
    normed = centered / np.sqrt(np.mean(centered**2, axis=-1, keepdims=True) + eps) * weight
    return np.asarray(normed if bias is None else normed + bias)


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
    scale: float | None = None,
    cap: float = 0.0,
    sinks: Floats | None = None,
) -> Floats:
    """Causal attention of queries [n, heads, head_dim] at `positions` [n] over a whole cache.

    keys, values [m, kv_heads, head_dim] at positions 0..m-1; consecutive heads share keys.
    `sliding_window` counts the keys a query sees, itself included; 0 is all. Scores are multiplied
    by `scale` (head_dim ** -0.5 if None) and capped; `sinks` [heads] take part in the softmax
    without values. Returns [n, heads, head_dim].
    """
    num_shared = queries.shape[1] // keys.shape[1]
    keys, values = (np.repeat(array, num_shared, axis=1) for array in (keys, values))
    scale = queries.shape[-1] ** -0.5 if scale is None else scale
    scores = softcap(np.einsum("nhd,mhd->hnm", queries, keys) * scale, cap)
    distance = positions[:, None] - np.arange(len(keys))
    seen = (distance >= 0) & ((distance < sliding_window) | (sliding_window == 0))
    scores = np.where(seen, scores, -np.inf)
    if sinks is not None:
        scores = np.concatenate(
            [scores, np.broadcast_to(sinks[:, None, None], (*scores.shape[:2], 1))], axis=-1
        )
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.einsum("hnm,mhd->nhd", weights[..., : len(keys)], values))


def convolve(x: Floats, kernel: Floats) -> Floats:
    """x [n, channels], each with its own kernel [taps, channels], the newest input last; silu."""
    taps = len(kernel)
    padded = np.concatenate([np.zeros((taps - 1, x.shape[1]), x.dtype), x])
    sums = sum(padded[tap : tap + len(x)] * kernel[tap] for tap in range(taps))
    return activation("silu", np.asarray(sums))


def delta_rule(
    queries: Floats, keys: Floats, values: Floats, decays: Floats, betas: Floats
) -> Floats:
    """The gated delta rule from an empty state on (transformers: modeling_qwen3_next.py).

    queries, keys [n, heads, key_dim] of length 1 before the scaling by key_dim ** -0.5, values
    [n, heads, value_dim], decays and betas [n, heads]. Returns [n, heads, value_dim].
    """
    n, heads, key_dim = keys.shape
    state = np.zeros((heads, key_dim, values.shape[2]), values.dtype)
    out = np.empty_like(values)
    for t in range(n):
        state = state * decays[t, :, None, None]
        known = np.einsum("hkv,hk->hv", state, keys[t])
        state = state + keys[t, :, :, None] * ((values[t] - known) * betas[t, :, None])[:, None]
        out[t] = np.einsum("hkv,hk->hv", state, queries[t]) * key_dim**-0.5
    return out


def softcap(x: Floats, cap: float) -> Floats:
    """cap * tanh(x / cap); x itself for a cap of 0."""
    return np.asarray(cap * np.tanh(x / cap)) if cap else x


def sigmoid(x: Floats) -> Floats:
    """1 / (1 + e^-x)."""
    return np.asarray(1 / (1 + np.exp(-x)))


def activation(name: str, x: Floats) -> Floats:
    """silu, gelu or gelu_pytorch_tanh."""
    if name == "silu":
        return np.asarray(x * sigmoid(x))
    if name == "gelu":
        erf = np.vectorize(math.erf, otypes=[x.dtype])
        return np.asarray(x / 2 * (1 + erf(x / math.sqrt(2))))
    return np.asarray(x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))))

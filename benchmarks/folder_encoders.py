"""Round-to-nearest encoders of the folder formats, in NumPy, for sources of benchmarks.

They make what the formats' own packages would store, without calibration; the layouts are those
that `app/converter/sources/<format>.py` reads. `tests/converter/test_folder_encoders.py` holds each
to the importer, which is held to the packages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from app.converter.sources.bitsandbytes_blocks import TABLES

Floats = npt.NDArray[np.float32]
Array = npt.NDArray[Any]
Arrays = dict[str, Array]
_GROUP = 64
_FP8_BLOCK = 128
_FP8_MAX, _FP4_MAX = 448.0, 6.0
_AWQ_COLUMNS = (0, 2, 4, 6, 1, 3, 5, 7)  # of the nibbles of a word, the lowest first
_IN_ORDER = tuple(range(8))


@dataclass(frozen=True, slots=True)
class FolderEncoder:
    """`encode` makes a weight's arrays, by what follows its stem; the rest goes to config.json.

    `with_vocabulary`: the embedding is quantized too, as MLX does.
    """

    encode: Callable[[Floats], Arrays]
    config: Mapping[str, Any]
    with_vocabulary: bool = False


class _Codes(NamedTuple):
    """4-bit codes [out, in]; scales, lowest weights [out, G]: W = scale * code + low."""

    codes: npt.NDArray[np.uint8]
    scales: Floats
    lows: Floats


def _round_affine(weight: Floats, dtype: npt.DTypeLike) -> _Codes:
    """Groups from their lowest to their highest weight, both rounded to `dtype`."""
    groups = weight.reshape(len(weight), -1, _GROUP)
    low, high = np.minimum(groups.min(-1), 0), np.maximum(groups.max(-1), 0)
    scales = np.maximum((high - low) / 15, 1e-6).astype(dtype).astype(np.float32)
    lows = low.astype(dtype).astype(np.float32)
    codes = np.rint((groups - lows[..., None]) / scales[..., None]).clip(0, 15)
    return _Codes(codes.astype(np.uint8).reshape(weight.shape), scales, lows)


def _round_with_zeros(weight: Floats) -> tuple[npt.NDArray[np.uint8], Floats, Array]:
    """Codes [out, in], float16 scales and whole zero points [out, G]: W = (code - zero) * scale."""
    _, scales, lows = _round_affine(weight, np.float16)
    zeros = np.rint(-lows / scales).clip(0, 15).astype(np.uint8)
    groups = weight.reshape(*scales.shape, _GROUP) / scales[..., None]
    codes = (np.rint(groups) + zeros[..., None]).clip(0, 15).astype(np.uint8)
    return codes.reshape(weight.shape), scales, zeros


def _pack_words(codes: Array, order: tuple[int, ...] = _IN_ORDER) -> npt.NDArray[np.int32]:
    """Eight codes a word along the last axis; `order`: the column of each nibble."""
    grouped = codes.reshape(*codes.shape[:-1], -1, 8)[..., order].astype(np.uint32)
    shifted = grouped << np.arange(0, 32, 4, dtype=np.uint32)
    return np.ascontiguousarray(np.bitwise_or.reduce(shifted, -1)).view(np.int32)


def _encode_awq(weight: Floats) -> Arrays:
    codes, scales, zeros = _round_with_zeros(weight)
    return {
        "qweight": _pack_words(codes.T, _AWQ_COLUMNS),
        "qzeros": _pack_words(zeros.T, _AWQ_COLUMNS),
        "scales": scales.T.astype(np.float16, order="C"),
    }


def _encode_autoround(weight: Floats) -> Arrays:
    """Symmetric, over the full range: the extreme weight becomes -8, by the scale's sign."""
    groups = weight.reshape(len(weight), -1, _GROUP)
    at = np.abs(groups).argmax(-1)[..., None]
    scales = (np.take_along_axis(groups, at, -1)[..., 0] / -8).astype(np.float16)
    steps = np.where(scales == 0, 1, scales).astype(np.float32)
    codes = (np.rint(groups / steps[..., None]) + 8).clip(0, 15).reshape(weight.shape)
    zeros = np.full(scales.T.shape, 7, np.uint8)  # 8, less one
    return {
        "qweight": np.ascontiguousarray(_pack_words(codes).T),
        "qzeros": _pack_words(zeros),
        "scales": np.ascontiguousarray(scales.T),
    }


def _encode_mlx(weight: Floats) -> Arrays:
    codes, scales, lows = _round_affine(weight, ml_dtypes.bfloat16)
    return {
        "weight": _pack_words(codes).view(np.uint32),
        "scales": scales.astype(ml_dtypes.bfloat16),
        "biases": lows.astype(ml_dtypes.bfloat16),
    }


def _encode_hqq(weight: Floats) -> Arrays:
    codes, scales, lows = _round_affine(weight, np.float16)
    rows = codes.reshape(-1, _GROUP)
    high, low = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    flags = ("view_as_float", "quant_scale", "quant_zero")
    numbers = {"nbits": 4, "group_size": _GROUP, "axis": 1}
    return {
        "W_q": high << np.uint8(4) | low,
        "scale": scales.reshape(-1, 1).astype(np.float16),
        "zero": (-lows / scales).reshape(-1, 1).astype(np.float16),
        "shape": np.array(weight.shape),
        "packing": np.frombuffer(b"4bit_u8", np.uint8),
        **{name: np.array(value, np.int32) for name, value in numbers.items()},
        **{name: np.zeros((), np.uint8) for name in flags},
    }


def _encode_nf4(weight: Floats) -> Arrays:
    table = np.array(TABLES["nf4"], np.float32)
    blocks = weight.reshape(-1, _GROUP)
    absmax = np.abs(blocks).max(1)
    middles = (table[1:] + table[:-1]) / 2
    codes = np.searchsorted(middles, blocks / np.maximum(absmax, 1e-12)[:, None]).astype(np.uint8)
    flat = codes.reshape(-1)
    state = {"quant_type": "nf4", "blocksize": _GROUP, "dtype": "float16"}
    document = json.dumps(state | {"shape": list(weight.shape)}).encode()
    return {
        "weight": (flat[0::2] << np.uint8(4) | flat[1::2])[:, None],
        "weight.absmax": absmax,
        "weight.quant_map": table,
        "weight.quant_state.bitsandbytes__nf4": np.frombuffer(document, np.uint8),
    }


def _encode_fp8(weight: Floats) -> Arrays:
    rows, columns = (-(-size // _FP8_BLOCK) for size in weight.shape)
    padded = np.zeros((rows * _FP8_BLOCK, columns * _FP8_BLOCK), np.float32)
    padded[: weight.shape[0], : weight.shape[1]] = weight
    tiles = padded.reshape(rows, _FP8_BLOCK, columns, _FP8_BLOCK)
    scales = (np.abs(tiles).max((1, 3)) / np.float32(_FP8_MAX)).astype(np.float32)
    codes = (tiles / scales[:, None, :, None]).astype(ml_dtypes.float8_e4m3fn)
    whole = codes.reshape(padded.shape)[: weight.shape[0], : weight.shape[1]]
    return {"weight": np.ascontiguousarray(whole), "weight_scale_inv": scales}


def _encode_nvfp4(weight: Floats) -> Arrays:
    groups = weight.reshape(len(weight), -1, 16)
    factor = np.float32(_FP8_MAX * _FP4_MAX) / np.abs(weight).max()
    scales = (np.abs(groups).max(-1) / _FP4_MAX * factor).astype(ml_dtypes.float8_e4m3fn)
    steps = np.maximum(scales.astype(np.float32) / factor, 1e-12)
    return {
        "weight_packed": _pack_fp4(groups / steps[..., None], weight.shape),
        "weight_scale": scales,
        "weight_global_scale": np.array([factor], np.float32),
    }


def _encode_mxfp4(weight: Floats) -> Arrays:
    groups = weight.reshape(len(weight), -1, 32)
    exponents = np.floor(np.log2(np.maximum(np.abs(groups).max(-1), 1e-30))) - 2  # 6 = 1.5 * 2 ** 2
    packed = _pack_fp4(np.ldexp(groups, -exponents.astype(np.int32)[..., None]), weight.shape)
    return {"weight_packed": packed, "weight_scale": (exponents + 127).astype(np.uint8)}


def _pack_fp4(values: Floats, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """Two e2m1 codes a byte, the even column in the low nibble."""
    rounded = values.clip(-_FP4_MAX, _FP4_MAX).astype(ml_dtypes.float4_e2m1fn)
    codes = rounded.view(np.uint8).reshape(shape)
    return codes[:, 0::2] | codes[:, 1::2] << np.uint8(4)


def _compressed_tensors(format_name: str, group: int) -> dict[str, Any]:
    """One group of settings for every linear but lm_head."""
    weights = {"num_bits": 4, "type": "float", "symmetric": True, "group_size": group}
    strategy = "tensor_group" if format_name.startswith("nv") else "group"
    scheme = {"targets": ["Linear"], "weights": weights | {"strategy": strategy}}
    table = {"quant_method": "compressed-tensors", "format": format_name, "ignore": ["lm_head"]}
    return {"quantization_config": table | {"config_groups": {"group_0": scheme}}}


def _declare(method: str, **settings: Any) -> dict[str, Any]:
    return {"quantization_config": {"quant_method": method, **settings}}


ENCODERS = {
    "AWQ 4-bit": FolderEncoder(
        _encode_awq, _declare("awq", bits=4, group_size=_GROUP, version="gemm", zero_point=True)
    ),
    "AutoRound 4-bit": FolderEncoder(
        _encode_autoround,
        _declare(
            "auto-round",
            bits=4,
            group_size=_GROUP,
            sym=True,
            packing_format="auto_round:auto_gptq",
        ),
    ),
    "MLX 4-bit": FolderEncoder(
        _encode_mlx, {"quantization": {"bits": 4, "group_size": _GROUP}}, with_vocabulary=True
    ),
    "HQQ 4-bit": FolderEncoder(_encode_hqq, _declare("hqq")),
    "bitsandbytes nf4": FolderEncoder(_encode_nf4, _declare("bitsandbytes", load_in_4bit=True)),
    "FP8, blocks of 128 x 128": FolderEncoder(
        _encode_fp8, _declare("fp8", weight_block_size=[_FP8_BLOCK, _FP8_BLOCK])
    ),
    "compressed-tensors NVFP4": FolderEncoder(
        _encode_nvfp4, _compressed_tensors("nvfp4-pack-quantized", 16)
    ),
    "compressed-tensors MXFP4": FolderEncoder(
        _encode_mxfp4, _compressed_tensors("mxfp4-pack-quantized", 32)
    ),
}

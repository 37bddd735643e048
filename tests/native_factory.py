"""Writes tiny native checkpoints whose linears lie on chosen grids."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from app.checkpoint.layout import file_stem
from app.checkpoint.manifest import Provenance, SourceInfo
from app.checkpoint.reference_quant import quantized_linear
from app.checkpoint.schemes import Linear, QuantScheme, ScaleDtype, Scheme, TensorPath
from app.checkpoint.writer import CheckpointWriter, PartLinear
from tests.converter.test_dense_source import hf_config
from tests.gguf_factory import TinyModel

CreateLinear = Callable[[str, tuple[int, int]], Linear]


def random_linear(
    shape: tuple[int, int],
    bits: int = 4,
    group_size: int = 32,
    scheme: Scheme = Scheme.SYM,
    *,
    scales: str = "fp16",
    perm: bool = False,
    lowest_zero: int = 1,
    seed: int = 0,
) -> Linear:
    """Every code occurs; scales of both signs; `perm` is the same for all linears as wide."""
    rng = np.random.default_rng(seed)
    quant = QuantScheme(bits, group_size, scheme, ScaleDtype(scales))
    groups, half = (shape[0], quant.num_groups(shape[1])), 1 << (bits - 1)
    codes = rng.integers(0, 2 * half, shape).astype(np.uint8)
    dtype = {"fp16": np.float16, "fp32": np.float32}[scales]
    values = (rng.uniform(0.001, 0.02, groups) * rng.choice([-1, 1], groups)).astype(dtype)
    zeros = rng.integers(lowest_zero, 2 * half, groups).astype(np.uint8)
    order = np.random.default_rng(shape[1]).permutation(shape[1]).astype(np.int32)
    return quantized_linear(
        quant,
        (codes.astype(np.int16) - half).astype(np.int8) if scheme is Scheme.SYM else codes,
        values,
        zeros=zeros if scheme is Scheme.ZERO else None,
        biases=values if scheme is Scheme.AFFINE else None,
        perm=order if perm else None,
    )


def write_native_model(folder: Path, model: TinyModel, create: CreateLinear, **config: Any) -> Path:
    """`create` makes the layers' linears; embedding, norms and lm_head are dense float16."""
    writer = CheckpointWriter()
    writer.begin(folder)
    linears: dict[str, PartLinear] = {}
    vectors = {}
    for name, weight in model.weights().items():
        if name.endswith(".bias"):
            continue
        if weight.ndim == 1:
            vectors[name] = weight.astype(np.float16)
        elif "_proj" in name:
            linears[name] = _part(name, create(name, weight.shape))
        else:
            linears[name] = _part(name, Linear(weight.shape, weight=weight.astype(np.float16)))
    for stem in dict.fromkeys(file_stem(name) for name in [*linears, *vectors]):
        writer.write_part(
            stem,
            {name: part for name, part in linears.items() if file_stem(name) == stem},
            {name: vector for name, vector in vectors.items() if file_stem(name) == stem},
        )
    settings = hf_config(model) | config
    writer.write_text("config.json", json.dumps(settings))
    writer.write_text("tokenizer.json", "{}")
    writer.finish(settings["architectures"][0], SourceInfo("tests", folder.name, 0), "tests")
    return folder


def _part(name: str, linear: Linear) -> PartLinear:
    path = TensorPath.DENSE if linear.quant is None else TensorPath.EXACT
    return PartLinear(linear, Provenance(name, "test", path, 0.0))

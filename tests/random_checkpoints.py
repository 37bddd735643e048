"""Native folders of random weights for any ModelSpec, whatever its family."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from app.checkpoint.layout import file_stem
from app.checkpoint.manifest import Provenance, SourceInfo
from app.checkpoint.schemes import Linear, QuantScheme, TensorPath
from app.checkpoint.writer import CheckpointWriter, PartLinear
from app.spec.model_spec import ModelSpec
from app.spec.weights import has_bias, is_router, iter_linears, iter_vectors
from tests.kernels.cpu_linears import random_linear

# Larger weights saturate attention, and the smallest rounding then picks another key.
SIZE = 0.1


def write_random(
    spec: ModelSpec, config: dict[str, Any], directory: Path, quant: QuantScheme | None = None
) -> Path:
    """Dense float32 linears, or random codes of a scheme, with permuted columns in the layers.

    `config` is what config.json says; it need not agree with the spec.
    """
    writer = CheckpointWriter()
    writer.begin(directory)
    parts: dict[str, dict[str, PartLinear]] = {}
    for seed, (name, shape) in enumerate(iter_linears(spec)):
        scheme = None if is_router(name) else quant
        linear = _linear(scheme, name, shape, seed, has_bias=has_bias(spec, name))
        path = TensorPath.DENSE if scheme is None else TensorPath.EXACT
        part = PartLinear(linear, Provenance(name, "source", path, 0.0))
        parts.setdefault(file_stem(name), {})[name] = part
    vectors = _vectors(spec)
    for stem in {file_stem(name) for name in vectors} | parts.keys():
        own = {name: vector for name, vector in vectors.items() if file_stem(name) == stem}
        writer.write_part(stem, parts.get(stem, {}), own)
    writer.write_text("config.json", json.dumps(config))
    writer.finish(config["architectures"][0], SourceInfo("tests", directory.name, 0), "tests")
    return directory


def _linear(
    quant: QuantScheme | None, name: str, shape: tuple[int, int], seed: int, *, has_bias: bool
) -> Linear:
    if quant is not None:
        in_layer = name.startswith("layers.")
        return random_linear(quant, shape, seed, size=SIZE, with_perm=in_layer, with_bias=has_bias)
    rng = np.random.default_rng(seed)
    weight = (rng.standard_normal(shape) * 2 * SIZE).astype(np.float32)
    bias = rng.standard_normal(shape[0]).astype(np.float32) if has_bias else None
    return Linear(shape, weight=weight, bias=bias)


def _vectors(spec: ModelSpec) -> dict[str, npt.NDArray[np.float32]]:
    """Norm weights scatter around 1."""
    rng = np.random.default_rng(0)
    vectors = {}
    for name, shape in iter_vectors(spec):
        mean = 1.0 if name.endswith("norm") else 0.0
        vectors[name] = (rng.standard_normal(shape) * 0.3 + mean).astype(np.float32)
    return vectors

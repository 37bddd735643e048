"""Barriers taken out of the real kernels are missed by some order of threads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernels.cuda.build import SOURCE_DIR
from tests.kernels import test_cuda_delta_net as delta_net
from tests.kernels import test_cuda_latent as latent
from tests.kernels.cuda_host import HostModule, Schedule, build_host_module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")


def build_without(file: str, barrier: str, folder: Path, macros: Any) -> HostModule:
    """The kernel without a line that has this barrier and what stands beside it."""
    text = (SOURCE_DIR / file).read_text("utf-8")
    assert text.count(barrier) == 1
    path = folder / file
    path.write_text(text.replace(barrier, barrier.replace("__syncthreads();", "")), "utf-8")
    return build_host_module(path, macros)


def test_weights_must_be_there_before_they_are_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = "    __syncthreads();\n}\n\n// The block of 64 columns"
    case, rng = latent.Case(positions=(200,), split_keys=256), np.random.default_rng(1)
    source = case.variant.attention_source
    faulty = build_without(source.file, barrier, tmp_path, source.macros)
    cache = latent.Cache(case)
    cache.write(0, rng.standard_normal((201, case.variant.key_dim)).astype(np.float16))
    queries = rng.standard_normal((1, case.num_heads, case.variant.key_dim)).astype(np.float16)
    wanted = latent.attend(case, cache, queries)
    monkeypatch.setattr(latent, "module_of", lambda source: faulty)
    found = [latent.attend(case, cache, queries, schedule=schedule) for schedule in Schedule]
    assert any(not np.array_equal(each, wanted) for each in found)


def test_a_token_must_be_staged_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = "    __syncthreads();\n    float2 total"
    net = delta_net.Net()
    x = delta_net.sequence(net, 12)
    variant = delta_net.DeltaVariant(net.key_dim, net.value_dim, net.kernel)
    source = variant.source
    faulty = build_without(source.file, barrier, tmp_path, source.macros)
    wanted = delta_net.Device(net).run(x, [0] * 12, range(12))
    monkeypatch.setattr(delta_net, "build_host_module", lambda path, macros: faulty)
    found = [delta_net.Device(net).run(x, [0] * 12, range(12), schedule=each) for each in Schedule]
    assert any(not np.array_equal(each, wanted, equal_nan=True) for each in found)

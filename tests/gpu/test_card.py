"""The kernels on a real card against what the same sources do on the CPU, and whole models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from app.checkpoint.reference_quant import dequantize
from app.checkpoint.schemes import QuantScheme, ScaleDtype, Scheme
from app.engine.executors.cuda.launcher import Launcher
from app.engine.executors.cuda.matrices import upload_matrix
from app.engine.executors.cuda.products import VectorProducts
from app.engine.executors.cuda.timing import measure_bandwidth
from benchmarks.gpu_checks import check_graph, check_greedy, check_leaks
from kernels.cuda.gemv import Epilogue, Input
from tests.kernels.cpu_linears import random_linear

pytestmark = pytest.mark.gpu

Open = Callable[[], Launcher]
_TWO_LEVEL = ScaleDtype.TWO_LEVEL
SCHEMES = [
    QuantScheme(4, 128, Scheme.SYM, ScaleDtype.FP16),
    QuantScheme(3, 128, Scheme.SYM, ScaleDtype.FP16),
    QuantScheme(8, 32, Scheme.SYM, ScaleDtype.FP16),
    QuantScheme(4, 32, Scheme.AFFINE, _TWO_LEVEL),
    QuantScheme(8, 16, Scheme.SYM, _TWO_LEVEL),
    QuantScheme(4, 64, Scheme.ZERO, ScaleDtype.FP16),
]
SHAPE = (200, 700)


@pytest.mark.parametrize("num_rows", [1, 5, 8])
@pytest.mark.parametrize("quant", SCHEMES, ids=lambda quant: quant.label)
def test_a_product_is_that_of_the_decoded_matrix(
    open_card: Open, quant: QuantScheme, num_rows: int
) -> None:
    linear = random_linear(quant, SHAPE, 3, with_perm=True, with_bias=True)
    x = np.random.default_rng(4).standard_normal((num_rows, SHAPE[1])).astype(np.float16)
    wanted = x.astype(np.float64) @ dequantize(linear).astype(np.float64).T
    assert linear.bias is not None
    found = multiply(open_card(), linear, x)
    assert relative_error(found, wanted + linear.bias) <= 1e-3


def multiply(launcher: Launcher, linear: Any, x: npt.NDArray[np.float16]) -> Any:
    out = np.zeros((len(x), SHAPE[0]), np.float32)
    buffer = launcher.upload_new(out)
    launches = VectorProducts().multiply(
        upload_matrix(launcher, linear, "x"),
        len(x),
        x=launcher.upload_new(x),
        out=buffer,
        input=Input.HALFS,
        epilogue=Epilogue.STORE_FLOAT,
    )
    launcher.replay(launcher.capture(list(launches)))
    launcher.download(buffer, out)
    launcher.close()
    return out


def relative_error(found: Any, wanted: Any) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def test_memory_is_as_fast_as_memory(open_card: Open) -> None:
    launcher = open_card()
    bandwidth = measure_bandwidth(launcher)
    launcher.close()
    assert bandwidth.copy > 0 < bandwidth.read


def test_a_graph_does_what_its_launches_do(open_card: Open) -> None:
    assert check_graph(open_card, is_tiny=True)["is_equal"]


def test_greedy_tokens_are_the_reference_s(open_card: Open) -> None:
    found = check_greedy(open_card, is_tiny=_is_host(open_card))
    assert found["is_equal"], found


def test_loading_and_unloading_loses_no_memory(open_card: Open) -> None:
    found = check_leaks(open_card, is_tiny=_is_host(open_card))
    assert found["is_equal"], found


def _is_host(open_card: Open) -> bool:
    return open_card.__name__ == "HostLauncher"

"""What the launcher of real cards asks of CuPy exists there, with the numbers that it passes.

Without a card nothing of it runs; names, constants and errors can still be held to the package.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from app.core.errors import AppError, EngineError, ResourceError
from app.engine.executors.cuda import cupy_launcher
from app.engine.executors.cuda.cupy_launcher import CupyLauncher

pytestmark = pytest.mark.skipif(find_spec("cupy") is None, reason="CuPy is not installed")

SIGNATURES = {
    "runtime.setDevice": "(int device)",
    "runtime.free": "(intptr_t ptr)",
    "runtime.malloc": "(size_t size) -> intptr_t",
    "runtime.memGetInfo": "()",
    "runtime.getDeviceProperties": "(int device)",
    "runtime.memsetAsync": "(intptr_t ptr, int value, size_t size, intptr_t stream)",
    "runtime.memcpyAsync": "(intptr_t dst, intptr_t src, size_t size, int kind, intptr_t stream)",
    "runtime.hostAlloc": "(size_t size, unsigned int flags) -> intptr_t",
    "runtime.freeHost": "(intptr_t ptr)",
    "driver.occupancyMaxActiveBlocksPerMultiprocessor": (
        "(intptr_t func, int blockSize, size_t dynamicSMemSize) -> int"
    ),
    "driver.funcSetAttribute": "(intptr_t f, int attribute, int value)",
    "function.Module.load": "(self, bytes cubin)",
    "function.Module.get_function": "(self, name)",
    "Stream.begin_capture": "(self, mode=None)",
    "Stream.end_capture": "(self)",
    "Stream.synchronize": "(self)",
    "Graph.launch": "(self, stream=None)",
    "Event.record": "(self, stream=None)",
    "Event.synchronize": "(self)",
    "get_elapsed_time": "(start_event, end_event)",
}


@pytest.fixture(scope="module")
def cuda() -> Any:
    import cupy

    return cupy.cuda


@pytest.mark.parametrize("name", SIGNATURES)
def test_what_is_called_is_there(cuda: Any, name: str) -> None:
    found = cuda
    for part in name.split("."):
        found = getattr(found, part)
    told = (found.__doc__ or "").splitlines()[0]
    assert re.sub(r"^[\w.]+", "", told) == SIGNATURES[name]


def test_constants_are_cuda_s(cuda: Any) -> None:
    runtime = cuda.runtime
    assert runtime.memcpyHostToDevice == cupy_launcher._HOST_TO_DEVICE
    assert runtime.memcpyDeviceToHost == cupy_launcher._DEVICE_TO_HOST
    assert runtime.hostAllocMapped == cupy_launcher._HOST_ALLOC_MAPPED


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (2, ResourceError, "cudaErrorMemoryAllocation"),
        (700, EngineError, "cudaErrorIllegalAddress"),
        (719, EngineError, "cudaErrorLaunchFailure"),
    ],
)
def test_faults_of_the_card_are_ours(
    cuda: Any, status: int, kind: type[AppError], words: str
) -> None:
    import cupy

    launcher = object.__new__(CupyLauncher)
    launcher._cupy, launcher._arena = cupy, None  # type: ignore[assignment]
    with (
        pytest.raises(kind, match=f"The card failed .{words}"),
        launcher._translated("The card failed"),
    ):
        raise cuda.runtime.CUDARuntimeError(status)


NO_CARD = """
from app.core.errors import ResourceError
from app.engine.executors.cuda.cupy_launcher import CupyLauncher
try:
    CupyLauncher()
except ResourceError as error:
    print(error.message)
"""


def test_a_machine_without_a_card_is_told_so() -> None:
    """In a process to which no card is shown, whatever this machine has."""
    done = subprocess.run(
        [sys.executable, "-c", NO_CARD],
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("No NVIDIA card can be used")

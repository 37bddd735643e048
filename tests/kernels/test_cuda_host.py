"""The harness itself: every planted fault is caught, by one of its means."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.cuda_host import (
    HOST_DIR,
    HostModule,
    KernelFault,
    Sanitizer,
    Schedule,
    build_host_module,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

ROOT = Path(__file__).resolve().parents[2]
SOURCE = HOST_DIR / "planted_faults.cu"
COUNT = 250
INPUT = np.random.default_rng(0).standard_normal(256).astype(np.float32)
RUNTIMES = {Sanitizer.ADDRESS: "libasan.so", Sanitizer.THREAD: "libtsan.so"}
FAILED = 66
OPTIONS = {
    "ASAN_OPTIONS": f"detect_leaks=0:exitcode={FAILED}",
    "TSAN_OPTIONS": f"exitcode={FAILED}",
}


@pytest.fixture(scope="module")
def faults() -> HostModule:
    return build_host_module(SOURCE)


def run(module: HostModule, kernel: str, schedule: Schedule, reverse_blocks: bool) -> bytes:
    out = np.zeros(COUNT, np.float32)
    module.launch(
        kernel,
        (2,),
        (128,),
        [INPUT, out, np.int32(COUNT)],
        shared_bytes=512,
        schedule=schedule,
        reverse_blocks=reverse_blocks,
    )
    return b"not a number" if np.isnan(out).any() else out.tobytes()


def outcomes(module: HostModule, kernel: str) -> set[bytes]:
    """What a kernel gives in all schedules and orders of blocks."""
    return {
        run(module, kernel, schedule, reverse_blocks)
        for schedule in Schedule
        for reverse_blocks in (False, True)
    }


def test_a_sound_kernel_gives_one_result(faults: HostModule) -> None:
    expected = INPUT.reshape(2, 128)[:, (np.arange(128) + 65) % 128].reshape(-1)[:COUNT]
    assert outcomes(faults, "no_fault") == {expected.tobytes()}


@pytest.mark.parametrize(
    "kernel",
    [
        "reads_a_later_thread_too_early",
        "reads_an_earlier_thread_too_early",
        "no_barrier_after_warp_sums",
        "writes_again_before_all_have_read",
        "reads_what_nobody_wrote",
        "does_not_wait_for_its_copy",
        "leaves_the_result_to_the_order_of_blocks",
    ],
)
def test_the_result_betrays_the_fault(faults: HostModule, kernel: str) -> None:
    found = outcomes(faults, kernel)
    assert len(found) > 1 or b"not a number" in found


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("reads_past_the_end", r"thread \(121,0,0\); nearest buffer 'arg0' of 1024 bytes"),
        ("writes_past_the_end", r"nearest buffer 'arg1' of 1000 bytes"),
        ("passes_dynamic_shared_memory", r"nearest buffer 'dynamic shared memory'"),
        ("shuffles_in_a_branch", r"(divergent|exited or absent lane).*planted_faults\.cu:\d+"),
        ("shuffles_after_some_returned", r"divergent|exited or absent lane"),
        ("copies_to_a_misaligned_place", r"misaligned access at cp.async"),
        ("loads_matrices_misaligned", r"misaligned access at ldmatrix"),
        ("meets_a_barrier_in_a_branch", r"40 threads wait at __syncthreads"),
    ],
)
@pytest.mark.parametrize("schedule", list(Schedule))
def test_the_fault_ends_in_a_message(
    faults: HostModule, kernel: str, message: str, schedule: Schedule
) -> None:
    with pytest.raises(KernelFault, match=message):
        run(faults, kernel, schedule, False)


def test_a_misaligned_load_traps() -> None:
    module = build_host_module(SOURCE, sanitizer=Sanitizer.ALIGNMENT)
    with pytest.raises(KernelFault, match="misaligned access"):
        run(module, "reads_four_floats_misaligned", Schedule.IN_ORDER, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sanitizer", "kernel", "is_faulty"),
    [
        (Sanitizer.ADDRESS, "passes_static_shared_memory", True),
        (Sanitizer.ADDRESS, "reads_past_the_end", True),
        (Sanitizer.ADDRESS, "no_fault", False),
        (Sanitizer.THREAD, "takes_a_shuffle_for_a_barrier", True),
        (Sanitizer.THREAD, "counts_without_atomics", True),
        (Sanitizer.THREAD, "writes_again_before_all_have_read", True),
        (Sanitizer.THREAD, "no_fault", False),
    ],
)
def test_a_sanitizer_sees_what_no_schedule_shows(
    sanitizer: Sanitizer, kernel: str, is_faulty: bool
) -> None:
    code = (
        "import tests.kernels.test_cuda_host as t\n"
        f"module = t.build_host_module(t.SOURCE, sanitizer=t.Sanitizer('{sanitizer}'))\n"
        f"t.run(module, '{kernel}', t.Schedule.IN_ORDER, False)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **OPTIONS, "LD_PRELOAD": _runtime(sanitizer), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == (FAILED if is_faulty else 0), done.stderr[-3000:]


def _runtime(sanitizer: Sanitizer) -> str:
    found = subprocess.run(
        ["g++", f"-print-file-name={RUNTIMES[sanitizer]}"],
        capture_output=True,
        text=True,
        check=True,
    )
    return str(Path(found.stdout.strip()).resolve(strict=True))

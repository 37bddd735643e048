"""The yardstick copies and reads every element once."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from kernels.cuda.copy import COPY_ARGS, COPY_THREADS, SOURCE, UNIT_BYTES
from kernels.cuda.source import SOURCE_DIR
from tests.kernels.cuda_host import Schedule, build_host_module

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the fibers are Linux's")

WORDS = np.random.default_rng(0).integers(0, 1 << 32, 5 * UNIT_BYTES // 4, np.uint32)


@pytest.mark.parametrize("schedule", list(Schedule))
def test_every_element_is_copied(schedule: Schedule) -> None:
    module, out = build_host_module(SOURCE_DIR / SOURCE.file), np.zeros_like(WORDS)
    fields = {"from": WORDS, "to": out, "count": WORDS.size // 4}
    module.launch_struct("copy_words", (2,), (COPY_THREADS,), COPY_ARGS, fields, schedule=schedule)
    assert np.array_equal(out, WORDS)


@pytest.mark.parametrize("schedule", list(Schedule))
def test_every_element_is_read(schedule: Schedule) -> None:
    module, out = build_host_module(SOURCE_DIR / SOURCE.file), np.zeros((2, 4), np.uint32)
    fields = {"from": WORDS, "to": out, "count": WORDS.size // 4}
    module.launch_struct("read_words", (2,), (COPY_THREADS,), COPY_ARGS, fields, schedule=schedule)
    units = WORDS.reshape(5, -1)
    for block in range(2):
        assert out[block, 0] == np.bitwise_xor.reduce(units[block::2], axis=None)

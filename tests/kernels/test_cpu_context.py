"""What a context does besides products: reading memory."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.cpu.loader import NativeError, instruction_sets
from kernels.cpu.native import Context


@pytest.mark.parametrize("instruction_set", instruction_sets())
@pytest.mark.parametrize("num_threads", [1, 3])
def test_read_sees_every_word(instruction_set: str, num_threads: int) -> None:
    context = Context(num_threads, instruction_set)
    data = np.zeros((3 << 20) // 4 + 64, np.uint32)  # more than three tasks' share
    assert context.read(data) == 0
    for bit, index in enumerate((0, 63, len(data) // 2, len(data) - 1)):
        data[index] = 1 << bit
    assert context.read(data) == 0b1111
    context.close()


def test_read_refuses_what_it_would_not_see_whole() -> None:
    context = Context(1)
    with pytest.raises(NativeError, match="256"):
        context.read(np.zeros(65, np.uint32))
    with pytest.raises(ValueError, match="contiguous"):
        context.read(np.zeros((16, 16), np.uint32)[:, :4])
    context.close()

"""The structures that Windows is asked with are laid out as d3dkmthk.h lays them out.

From learn.microsoft.com/windows-hardware/drivers/ddi/d3dkmthk:
a handle of a process, two numbers of four bytes, four of eight, one of four.
"""

from __future__ import annotations

import ctypes
import sys

import pytest

from app.core import wddm

OFFSETS = {
    "process": 0,
    "adapter": 8,
    "segment_group": 12,
    "budget": 16,
    "current_usage": 24,
    "current_reservation": 32,
    "available_for_reservation": 40,
    "physical_adapter": 48,
}


def test_a_question_about_memory_is_laid_out_as_documented() -> None:
    query = wddm._QueryMemory
    assert {name: getattr(query, name).offset for name, *_ in query._fields_} == OFFSETS
    assert ctypes.sizeof(query) == 56
    assert wddm._NON_LOCAL == 1


def test_an_adapter_is_named_by_eight_bytes() -> None:
    assert wddm._OpenAdapter.adapter.offset == 8
    assert ctypes.sizeof(wddm._OpenAdapter) == 12
    assert ctypes.sizeof(wddm._CloseAdapter) == 4


def test_the_usage_is_read_where_windows_writes_it() -> None:
    answer = bytearray(56)
    answer[24:32] = (3 << 30).to_bytes(8, sys.byteorder)
    assert wddm._QueryMemory.from_buffer(answer).current_usage == 3 << 30


@pytest.mark.skipif(sys.platform == "win32", reason="Windows answers")
def test_nothing_spills_elsewhere() -> None:
    assert wddm.shared_bytes(bytes(8)) is None

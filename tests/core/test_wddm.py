"""The structures that Windows is asked with are laid out as d3dkmthk.h lays them out.

From learn.microsoft.com/windows-hardware/drivers/ddi/d3dkmthk:
a handle of a process, two numbers of four bytes, four of eight, one of four.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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


# As d3dkmthk.h declares them; an adapter of two LUIDs, of which the second cannot be asked.
SOURCE = """
typedef int NTSTATUS;
typedef struct { unsigned LowPart; int HighPart; } LUID;
typedef struct { LUID AdapterLuid; unsigned hAdapter; } D3DKMT_OPENADAPTERFROMLUID;
typedef struct { unsigned hAdapter; } D3DKMT_CLOSEADAPTER;
typedef struct {
    void* hProcess;
    unsigned hAdapter;
    enum { LOCAL = 0, NON_LOCAL = 1 } MemorySegmentGroup;
    unsigned long long Budget, CurrentUsage, CurrentReservation, AvailableForReservation;
    unsigned PhysicalAdapterIndex;
} D3DKMT_QUERYVIDEOMEMORYINFO;
static int opened;
int num_opened(void) { return opened; }
NTSTATUS D3DKMTOpenAdapterFromLuid(D3DKMT_OPENADAPTERFROMLUID* open) {
    if (open->AdapterLuid.HighPart != 7) return 0xC000000D;  /* STATUS_INVALID_PARAMETER */
    open->hAdapter = 0x40000000 + open->AdapterLuid.LowPart;
    ++opened;
    return 0;
}
NTSTATUS D3DKMTQueryVideoMemoryInfo(D3DKMT_QUERYVIDEOMEMORYINFO* query) {
    if (query->hProcess || query->hAdapter != 0x40000001 || query->PhysicalAdapterIndex)
        return 0xC000000D;
    query->Budget = 8ULL << 30;
    query->CurrentUsage = query->MemorySegmentGroup == NON_LOCAL ? 5ULL << 30 : 1ULL << 30;
    return 0;
}
NTSTATUS D3DKMTCloseAdapter(D3DKMT_CLOSEADAPTER* close) {
    if (close->hAdapter >> 16 != 0x4000) return 0xC000000D;
    --opened;
    return 0;
}
"""


@pytest.fixture
def gdi(tmp_path: Path) -> Iterator[ctypes.CDLL]:
    """A library with those functions; every adapter that was opened is closed."""
    source, output = tmp_path / "gdi.c", tmp_path / "libgdi.so"
    source.write_text(SOURCE, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(output), str(source)], check=True)
    library = ctypes.CDLL(str(output))
    yield library
    assert library.num_opened() == 0


def luid(low: int, high: int) -> bytes:
    return low.to_bytes(4, "little") + high.to_bytes(4, "little")


@pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("cc") is None, reason="made with a C compiler"
)
def test_the_computers_memory_is_asked_for_of_the_card_and_of_this_process(
    gdi: ctypes.CDLL,
) -> None:
    assert wddm.ask_shared_bytes(gdi, luid(1, 7)) == 5 << 30
    assert wddm.ask_shared_bytes(gdi, luid(2, 7)) is None  # opened, and does not answer
    assert wddm.ask_shared_bytes(gdi, luid(1, 8)) is None  # no such adapter
    assert wddm.ask_shared_bytes(gdi, b"") is None  # a card without WDDM

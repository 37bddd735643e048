"""What NVML tells, asked of a library with its functions and structures, as its header has them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.core import nvml
from app.core.cards import Card, CardMemory, read_memory
from app.core.nvml import CardProcess, describe_cards, list_card_processes
from app.engine.memory_holders import card_holders

pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("cc") is None, reason="made with a C compiler"
)

CARD = Card("RTX", (8, 6), 16, 4 << 30, (12, 4), "0000:01:00.0")
SOURCE = """
#include <string.h>
typedef void* nvmlDevice_t;
typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId, computeInstanceId;
} Info;  /* nvmlProcessInfo_t */
static int opened;
int nvmlInit_v2(void) { ++opened; return 0; }
int nvmlShutdown(void) { --opened; return 0; }
int num_opened(void) { return opened; }
int nvmlDeviceGetCount_v2(unsigned int* count) { *count = 1; return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned int size) {
    strncpy(text, "550.54", size); return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
    *device = (void*)0x1234567890abUL; return index;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* device) {
    *device = (void*)0x1234567890abUL; return strcmp(id, "0000:01:00.0") != 0;
}
static int known(nvmlDevice_t device) { return device == (void*)0x1234567890abUL ? 0 : 999; }
int nvmlDeviceGetName(nvmlDevice_t device, char* text, unsigned int size) {
    strncpy(text, "NVIDIA RTX A2000", size); return known(device);
}
int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
    memory->total = 4ULL << 30; memory->free = 1ULL << 30; memory->used = 3ULL << 30;
    return known(device);
}
int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned int* n, Info* p) {
    if (*n < 2) return 7;
    p[0] = (Info){OWN_PID, 700ULL << 20, ~0u, ~0u};
    p[1] = (Info){4000000, 1ULL << 31, ~0u, ~0u};
    *n = 2; return known(d);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, unsigned int* n, Info* p) {
    p[0] = (Info){OWN_PID, ~0ULL, ~0u, ~0u};
    p[1] = (Info){1, ~0ULL, ~0u, ~0u};
    *n = 2; return known(d);
}
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    source, output = tmp_path / "nvml.c", tmp_path / "libnvml.so"
    source.write_text(SOURCE, encoding="utf-8")
    options = ["-shared", "-fPIC", f"-DOWN_PID={os.getpid()}"]
    subprocess.run(["cc", *options, "-o", str(output), str(source)], check=True)
    monkeypatch.setattr(nvml, "_LIBRARY", str(output))
    return output


def test_a_card_and_who_is_on_it(library: Path) -> None:
    assert describe_cards() == "NVIDIA RTX A2000 (4.0 GiB), driver 550.54"
    assert read_memory(CARD) == CardMemory(4 << 30, 1 << 30, 3 << 30)
    assert set(list_card_processes(CARD.pci_bus_id)) == {
        CardProcess(os.getpid(), 700 << 20),
        CardProcess(4_000_000, 1 << 31),
        CardProcess(1, None),
    }
    assert list_card_processes("0000:02:00.0") == ()
    with nvml.opened_nvml() as opened:
        assert opened is not None
        assert opened.num_opened() == 1


def test_programs_are_named_and_this_one_is_known(library: Path) -> None:
    holders = card_holders(CARD)
    assert [(one.name, one.num_bytes) for one in holders[:2]] == [
        ("process 4000000", 1 << 31),
        ("DeepInfer", 700 << 20),
    ]
    assert [one.is_own for one in holders] == [False, True, False]
    assert holders[2].num_bytes is None


def test_without_a_library_there_is_nothing_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "_LIBRARY", "libthatisnotthere.so")
    assert describe_cards() == ""
    assert read_memory(CARD) is None
    assert card_holders(CARD) == ()

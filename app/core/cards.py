"""The NVIDIA card of this machine, as the driver itself describes it: no context, no package.

Through ctypes, since the window's process may ask and `dev.py` has nothing installed yet. Driver
API: docs.nvidia.com/cuda/cuda-driver-api; NVML: `app.core.nvml`.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass

from app.core.errors import ResourceError
from app.core.nvml import Memory, find_card_handle, opened_nvml

_IS_WINDOWS = sys.platform == "win32"
_CUDA_LIBRARY = "nvcuda.dll" if _IS_WINDOWS else "libcuda.so.1"
_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_NUM_MULTIPROCESSORS, _MAJOR, _MINOR = 16, 75, 76  # CUdevice_attribute
_MEMORY_CLOCK, _BUS_WIDTH = 36, 37  # in kHz and bits
_TEXT_BYTES = 256
_LUID_BYTES = 8


@dataclass(frozen=True, slots=True)
class Card:
    """`compute_capability` (8, 6) is an RTX 30; `cuda_version` is the newest the driver runs.

    `luid` is Windows' name of the adapter, empty elsewhere.
    """

    name: str
    compute_capability: tuple[int, int]
    num_multiprocessors: int
    total_bytes: int
    cuda_version: tuple[int, int]
    pci_bus_id: str
    luid: bytes = b""


@dataclass(frozen=True, slots=True)
class CardMemory:
    """Of the whole card; `used_bytes` by all programs and the system together."""

    total_bytes: int
    free_bytes: int
    used_bytes: int


@dataclass(frozen=True, slots=True)
class CardSample:
    """The card that a model runs on, now; bytes.

    `used_bytes` of `total_bytes` are taken by all programs, `context_bytes` by CUDA in this process
    beside what the executor holds. `spilled_bytes` of this process stand in the computer's memory
    instead, which makes them slow (Windows). `num_replays` graphs ran since the model was loaded.
    Since the last sample, `replays_per_token` and the kernels in them, `launches_per_token`, were
    run for each token generated (0 without any), and kernels ran for `busy_share` of the time.
    """

    name: str
    used_bytes: int
    total_bytes: int
    context_bytes: int
    spilled_bytes: int
    num_replays: int
    replays_per_token: float
    launches_per_token: float
    busy_share: float


def find_card() -> Card:
    """The first card that CUDA sees.

    Raises ResourceError whose sentence says what is missing: the driver, or a card that it finds.
    """
    driver = _load(_CUDA_LIBRARY)
    if driver is None:
        raise ResourceError("No NVIDIA driver found.")
    code = driver.cuInit(0)
    if code == _NO_DEVICE:
        raise ResourceError("The NVIDIA driver finds no card.")
    if code:
        raise ResourceError("The NVIDIA driver cannot start (code {code}).", code=code)
    return _describe(driver)


def read_memory(card: Card) -> CardMemory | None:
    """What all programs use of the card now, by NVML; None where NVML cannot tell."""
    with opened_nvml() as nvml:
        handle = None if nvml is None else find_card_handle(nvml, card.pci_bus_id)
        memory = Memory()
        if nvml is None or handle is None:
            return None
        if nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory)):
            return None
        return CardMemory(memory.total, memory.free, memory.used)


def read_bandwidth(card: Card) -> float | None:
    """Bytes per second between the card and its memory, by its clock and bus; None where the driver
    does not tell.
    """
    driver, device = _load(_CUDA_LIBRARY), ctypes.c_int()
    if driver is None or driver.cuDeviceGetByPCIBusId(
        ctypes.byref(device), card.pci_bus_id.encode()
    ):
        return None
    clock_khz, width_bits = (_attribute(driver, device, n) for n in (_MEMORY_CLOCK, _BUS_WIDTH))
    return 2 * clock_khz * 1e3 * width_bits / 8 or None  # two transfers for each clock


def _load(library: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(library)
    except OSError:
        return None


def _describe(driver: ctypes.CDLL) -> Card:
    device, version, total = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    _check(driver.cuDeviceGet(ctypes.byref(device), 0))
    _check(driver.cuDriverGetVersion(ctypes.byref(version)))
    _check(driver.cuDeviceTotalMem_v2(ctypes.byref(total), device))
    name, bus_id = (ctypes.create_string_buffer(_TEXT_BYTES) for _ in range(2))
    _check(driver.cuDeviceGetName(name, _TEXT_BYTES, device))
    _check(driver.cuDeviceGetPCIBusId(bus_id, _TEXT_BYTES, device))
    major, minor, processors = (
        _attribute(driver, device, number) for number in (_MAJOR, _MINOR, _NUM_MULTIPROCESSORS)
    )
    return Card(
        name=name.value.decode(errors="replace"),
        compute_capability=(major, minor),
        num_multiprocessors=processors,
        total_bytes=total.value,
        cuda_version=(version.value // 1000, version.value % 1000 // 10),
        pci_bus_id=bus_id.value.decode(errors="replace"),
        luid=_read_luid(driver, device),
    )


def _read_luid(driver: ctypes.CDLL, device: ctypes.c_int) -> bytes:
    """Of WDDM's adapters alone."""
    luid, mask = ctypes.create_string_buffer(_LUID_BYTES), ctypes.c_uint()
    if not _IS_WINDOWS or driver.cuDeviceGetLuid(luid, ctypes.byref(mask), device):
        return b""
    return luid.raw


def _attribute(driver: ctypes.CDLL, device: ctypes.c_int, number: int) -> int:
    value = ctypes.c_int()
    _check(driver.cuDeviceGetAttribute(ctypes.byref(value), number, device))
    return value.value


def _check(code: int) -> None:
    if code:
        raise ResourceError(
            "The NVIDIA driver does not describe its card (code {code}).", code=code
        )

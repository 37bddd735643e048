"""What Windows moved out of a card: memory of this process that should be the card's and is not.

By the kernel's own count for this process (D3DKMTQueryVideoMemoryInfo, d3dkmthk.h), which the task
manager shows too. Page-locked memory counts as well: callers subtract it. Not yet run beside a
card.
"""

from __future__ import annotations

import ctypes
import sys

_LUID_BYTES = 8
_NON_LOCAL = 1  # D3DKMT_MEMORY_SEGMENT_GROUP_NON_LOCAL: the computer's memory


class _OpenAdapter(ctypes.Structure):
    """D3DKMT_OPENADAPTERFROMLUID."""

    _fields_ = (("luid", ctypes.c_ubyte * _LUID_BYTES), ("adapter", ctypes.c_uint))


class _CloseAdapter(ctypes.Structure):
    """D3DKMT_CLOSEADAPTER."""

    _fields_ = (("adapter", ctypes.c_uint),)


class _QueryMemory(ctypes.Structure):
    """D3DKMT_QUERYVIDEOMEMORYINFO; no process means this one."""

    _fields_ = (
        ("process", ctypes.c_void_p),
        ("adapter", ctypes.c_uint),
        ("segment_group", ctypes.c_int),
        ("budget", ctypes.c_ulonglong),
        ("current_usage", ctypes.c_ulonglong),
        ("current_reservation", ctypes.c_ulonglong),
        ("available_for_reservation", ctypes.c_ulonglong),
        ("physical_adapter", ctypes.c_uint),
    )


if sys.platform == "win32":

    def shared_bytes(luid: bytes) -> int | None:
        """Memory of the computer that this process uses for the adapter; None where unknown."""
        return ask_shared_bytes(ctypes.WinDLL("gdi32.dll"), luid)

else:

    def shared_bytes(luid: bytes) -> int | None:
        """Nothing spills elsewhere: allocations fail instead."""
        return None


def ask_shared_bytes(gdi: ctypes.CDLL, luid: bytes) -> int | None:
    """`shared_bytes` by a library that has Windows' functions, each 0 where it succeeds."""
    if len(luid) != _LUID_BYTES:
        return None
    opened = _OpenAdapter((ctypes.c_ubyte * _LUID_BYTES)(*luid), 0)
    if gdi.D3DKMTOpenAdapterFromLuid(ctypes.byref(opened)):
        return None
    try:
        query = _QueryMemory(None, opened.adapter, _NON_LOCAL)
        if gdi.D3DKMTQueryVideoMemoryInfo(ctypes.byref(query)):
            return None
        return int(query.current_usage)
    finally:
        gdi.D3DKMTCloseAdapter(ctypes.byref(_CloseAdapter(opened.adapter)))

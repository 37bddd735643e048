"""GPTQ's packed codes: one little-endian bitstream, or bit planes (`gptq_p`).

Both take `bits` words of 32 bits for 32 codes. Planes (gptqmodel:utils/planar_packing.py) are 4, 2
or 1 bits wide, the lowest bits first: 3 = 2 + 1, 5 = 4 + 1, 6 = 4 + 2, 7 = 4 + 2 + 1; each fills
whole words. Where one plane holds all bits (2, 4, 8) both layouts are the same.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.checkpoint.bits import unpack_codes
from app.checkpoint.schemes import ALLOWED_BITS
from app.converter.sources.bitstream import dense_width, unpack_dense

Codes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint32]

_UNIT = 32
_PLANES = {3: (2, 1), 5: (4, 1), 6: (4, 2), 7: (4, 2, 1)}  # widths, the lowest bits first


def num_words(count: int, bits: int) -> int:
    """Words that `count` codes take in either layout."""
    return dense_width(count, bits)


def unpack(words: Words, bits: int, count: int, *, is_planar: bool) -> Codes:
    """Codes uint8 [rows, count] of words [rows, num_words]."""
    planes = _PLANES.get(bits) if is_planar else None
    if planes is None and bits in ALLOWED_BITS:
        return unpack_codes(words.view(np.uint8), bits, count, signed=False)
    if planes is None:
        return unpack_dense(words, bits, count)
    units = words.reshape(words.shape[0], -1, bits)
    codes = np.zeros((*units.shape[:2], _UNIT), np.uint8)
    start = 0
    for width in planes:
        shifts = np.arange(0, 32, width, dtype=np.uint32)
        fields = (units[:, :, start : start + width, None] >> shifts) & np.uint32((1 << width) - 1)
        codes |= fields.astype(np.uint8).reshape(codes.shape) << np.uint8(start)
        start += width
    return codes.reshape(words.shape[0], -1)[:, :count]


def gather(words: Words, bits: int, positions: npt.NDArray[np.intp], *, is_planar: bool) -> Words:
    """Codes uint32 [n, columns] of words [num_words, columns]: each by its own address.

    The plain formula, for checks: it shares nothing with `unpack` but the widths of the planes.
    """
    planes = _PLANES.get(bits) if is_planar else None
    if planes is None:
        return _gather_stream(words, bits, positions)
    unit, within = np.divmod(positions, _UNIT)
    codes = np.zeros((positions.size, words.shape[1]), np.uint32)
    start = 0
    for width in planes:
        word, shift = np.divmod(within * width, 32)
        fields = words[unit * bits + start + word] >> _column(shift)
        codes |= (fields & np.uint32((1 << width) - 1)) << np.uint32(start)
        start += width
    return codes


def _gather_stream(words: Words, bits: int, positions: npt.NDArray[np.intp]) -> Words:
    word, shift = np.divmod(positions * bits, 32)
    codes = words[word]
    codes >>= _column(shift)
    straddling = shift + bits > 32
    if straddling.any():
        codes[straddling] |= words[word[straddling] + 1] << _column(32 - shift[straddling])
    codes &= np.uint32((1 << bits) - 1)
    return codes


def _column(shifts: npt.NDArray[np.intp]) -> Words:
    return shifts.astype(np.uint32)[:, None]

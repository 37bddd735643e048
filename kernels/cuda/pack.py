"""From rows of codes to the tiles that the kernels read, and back, exactly.

A tile is 16 rows by 64 columns (a step), in the order of the A operand of mma.m16n8k16 (PTX ISA,
"Matrix Fragments for mma.m16n8k16"). With g = lane // 4 and t = lane % 4, of every 16 columns a
lane holds eight values: register r = 0 .. 3, half h = 0, 1 is row g + 8 * (r % 2), column
2 * t + 8 * (r // 2) + h. So a lane's 16-byte load is fragments and nothing else, and a warp's load
is 512 contiguous bytes.

    4 bits   uint32 [tiles, steps, 32, 4]      a word per 16 columns: value (r, h) at bit 4 r + 16 h
    8 bits   uint8  [tiles, steps, 2, 32, 16]  values (r, h) in order, 32 columns per 16 bytes
    16 bits  float16 [tiles, steps, 4, 32, 8]  values (r, h) in order
    3 bits   uint32 [tiles, steps / 4, 3, 32, 4]

Three bits take twelve words per 256 columns: word 3 s + w is word w of step s. Of a step's 16 pairs
of halves, pair i < 15 stands at bits 3 (i % 5) and 16 higher of word i // 5, and bit b of pair 15
at bits 15 and 31 of word b.

Rows are padded to 16 with code 0, columns to 64 (dense), 128 or 256 (3 bits); activations there are
0. Values per row and group stand as `pack_groups` says: rows g and g + 8 beside each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

TILE_ROWS = 16
STEP_COLUMNS = 64
_WIDE_STEPS = 4  # steps that three-bit codes pack together
_WIDE_GROUP = 128
_UNIT_STEPS = {3: _WIDE_STEPS, 4: 2, 8: 2, 16: 1}
_PAIRS_PER_WORD = 5
_LAST_PAIR = 15

Codes = npt.NDArray[np.uint8]


def padded_columns(num_columns: int, bits: int) -> int:
    """Columns as stored: whole units of what a warp loads at once."""
    unit = STEP_COLUMNS * _UNIT_STEPS[bits]
    return -(-num_columns // unit) * unit


def codes_bytes(shape: tuple[int, int], bits: int) -> int:
    """Bytes of the tiles of [out, in] codes; 16 bits are dense."""
    return _padded_rows(shape[0]) * padded_columns(shape[1], bits) * bits // 8


def empty_tiles(shape: tuple[int, int], bits: int) -> npt.NDArray[Any]:
    """What the tiles of [out, in] codes are written to."""
    tiles = _padded_rows(shape[0]) // TILE_ROWS
    steps = padded_columns(shape[1], bits) // STEP_COLUMNS
    forms: dict[int, tuple[tuple[int, ...], Any]] = {
        3: ((steps // _WIDE_STEPS, 3, 32, 4), np.uint32),
        4: ((steps, 32, 4), np.uint32),
        8: ((steps, 2, 32, 16), np.uint8),
        16: ((steps, 4, 32, 8), np.float16),
    }
    of_a_tile, dtype = forms[bits]
    return np.empty((tiles, *of_a_tile), dtype)


def group_values_bytes(num_rows: int, num_groups: int, together: int, itemsize: int) -> int:
    """Bytes of what `pack_groups` makes of [num_rows, num_groups] values."""
    return _padded_rows(num_rows) * (-(-num_groups // together) * together) * itemsize


def pack_codes(codes: Codes, bits: int) -> npt.NDArray[Any]:
    """Unsigned codes [out, in] of 3, 4 or 8 bits -> tiles."""
    fragments = _to_fragments(codes, padded_columns(codes.shape[1], bits))
    match bits:
        case 4:
            return _pack_nibbles(fragments)
        case 8:
            return _interleave(fragments, 2)
        case 3:
            return _pack_three_bits(fragments)
    raise ValueError(f"there are no tiles of {bits} bits")


def pack_nibbles(packed: Codes, num_columns: int) -> npt.NDArray[np.uint32]:
    """`pack_codes` of codes that stand two a byte, the first one low: [out, ceil(in / 2)].

    Codes stay in their bytes: those of row g and g + 8 side by side are half a word.
    """
    width = padded_columns(num_columns, 4)
    rows = np.pad(_pad_rows(packed), ((0, 0), (0, width // 2 - packed.shape[1])))
    if num_columns % 2:
        rows[:, num_columns // 2] &= np.uint8(15)
    tiles, steps = len(rows) // TILE_ROWS, width // STEP_COLUMNS
    # rows: (half, g); bytes: (step, fragment, half, t)
    both = rows.reshape(tiles, 2, TILE_ROWS // 2, steps, 4, 2, 4)
    first, second = both[:, 0], both[:, 1]
    halves = ((first & 15) | (second << 4), (first >> 4) | (second & 0xF0))
    words = np.empty((tiles, TILE_ROWS // 2, steps, 4, 4, 4), np.uint8)
    for index in range(4):
        words[..., index] = halves[index // 2][..., index % 2, :]
    ordered = words.view("<u4")[..., 0].transpose(0, 2, 1, 4, 3)
    return np.ascontiguousarray(ordered).reshape(tiles, steps, 32, 4)


def unpack_codes(tiles: npt.NDArray[Any], bits: int, shape: tuple[int, int]) -> Codes:
    """The inverse of `pack_codes`."""
    unpack = {4: _unpack_nibbles, 8: _undo_interleave, 3: _unpack_three_bits}[bits]
    return _from_fragments(unpack(tiles), shape)


def pack_dense(weight: npt.NDArray[np.float16]) -> npt.NDArray[np.float16]:
    """float16 [out, in] -> tiles of 16 bits."""
    return _interleave(_to_fragments(weight, padded_columns(weight.shape[1], 16)), 4)


def unpack_dense(tiles: npt.NDArray[np.float16], shape: tuple[int, int]) -> npt.NDArray[np.float16]:
    """The inverse of `pack_dense`."""
    return _from_fragments(_undo_interleave(tiles), shape)


def pack_groups(values: npt.NDArray[Any], together: int = 1) -> npt.NDArray[Any]:
    """Values [out, groups] -> [tiles, groups / together, 8, together, 2]; padding gets 0.

    `together`: the groups of a unit, whose values a lane loads at once; 1 from 128 columns on.
    """
    padded = np.pad(_pad_rows(values), ((0, 0), (0, -values.shape[1] % together)))
    axes = padded.reshape(-1, 2, TILE_ROWS // 2, padded.shape[1] // together, together)
    return np.ascontiguousarray(axes.transpose(0, 3, 2, 4, 1))


def unpack_groups(tiles: npt.NDArray[Any], shape: tuple[int, int]) -> npt.NDArray[Any]:
    """The inverse of `pack_groups`, to [out, groups]."""
    rows = tiles.transpose(0, 4, 2, 1, 3).reshape(tiles.shape[0] * TILE_ROWS, -1)
    return np.ascontiguousarray(rows[: shape[0], : shape[1]])


def groups_together(group_size: int, bits: int) -> int:
    """How many groups' values stand together (`pack_groups`)."""
    unit = STEP_COLUMNS * _UNIT_STEPS[bits]
    return 1 if group_size < 0 or group_size >= _WIDE_GROUP else unit // group_size


def _padded_rows(num_rows: int) -> int:
    return -(-num_rows // TILE_ROWS) * TILE_ROWS


def _pad_rows(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.pad(values, ((0, _padded_rows(len(values)) - len(values)), (0, 0)))


def _to_fragments(values: npt.NDArray[Any], num_columns: int) -> npt.NDArray[Any]:
    """[out, in] -> [tiles, steps, 32 lanes, 4 fragments, 8 values]."""
    padded = np.pad(_pad_rows(values), ((0, 0), (0, num_columns - values.shape[1])))
    tiles, steps = len(padded) // TILE_ROWS, num_columns // STEP_COLUMNS
    # rows: (half, g); columns: (step, fragment, half, t, h)
    axes = padded.reshape(tiles, 2, 8, steps, 4, 2, 4, 2)
    ordered = axes.transpose(0, 3, 2, 6, 4, 5, 1, 7)
    return ordered.reshape(tiles, steps, 32, 4, 8)


def _from_fragments(fragments: npt.NDArray[Any], shape: tuple[int, int]) -> npt.NDArray[Any]:
    tiles, steps = fragments.shape[:2]
    axes = fragments.reshape(tiles, steps, 8, 4, 4, 2, 2, 2)
    rows = axes.transpose(0, 6, 2, 1, 4, 5, 3, 7).reshape(tiles * TILE_ROWS, steps * STEP_COLUMNS)
    return np.ascontiguousarray(rows[: shape[0], : shape[1]])


def _interleave(fragments: npt.NDArray[Any], loads: int) -> npt.NDArray[Any]:
    """[tiles, steps, 32, 4, 8] -> [tiles, steps, loads, 32, 32 / loads]: a warp's load together."""
    tiles, steps = fragments.shape[:2]
    split = fragments.reshape(tiles, steps, 32, loads, 32 // loads)
    return np.ascontiguousarray(split.transpose(0, 1, 3, 2, 4))


def _undo_interleave(tiles: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return tiles.transpose(0, 1, 3, 2, 4).reshape(*tiles.shape[:2], 32, 4, 8)


def _nibble_shifts() -> npt.NDArray[np.uint32]:
    """Of values (r, h)."""
    registers, halves = np.arange(4, dtype=np.uint32), np.arange(2, dtype=np.uint32)
    return (4 * registers[:, None] + 16 * halves).reshape(-1)


def _pack_nibbles(fragments: Codes) -> npt.NDArray[np.uint32]:
    words = np.zeros(fragments.shape[:-1], np.uint32)
    for place, shift in enumerate(_nibble_shifts()):
        words |= fragments[..., place].astype(np.uint32) << shift
    return words


def _unpack_nibbles(words: npt.NDArray[np.uint32]) -> Codes:
    values = [(words >> shift) & np.uint32(15) for shift in _nibble_shifts()]
    return np.stack(values, axis=-1).astype(np.uint8)


def _pack_three_bits(fragments: Codes) -> npt.NDArray[np.uint32]:
    tiles, steps = fragments.shape[:2]
    pairs = fragments.reshape(tiles, steps, 32, 16, 2).astype(np.uint32)
    both = pairs[..., 0] | pairs[..., 1] << np.uint32(16)
    words = np.zeros((tiles, steps, 32, 3), np.uint32)
    for pair in range(_LAST_PAIR):
        word, place = divmod(pair, _PAIRS_PER_WORD)
        words[..., word] |= both[..., pair] << np.uint32(3 * place)
    for bit in range(3):
        single = (both[..., _LAST_PAIR] >> np.uint32(bit)) & np.uint32(0x00010001)
        words[..., bit] |= single << np.uint32(15)
    # Four steps' words of a lane, cut into three loads of 16 bytes.
    wide = words.reshape(tiles, steps // _WIDE_STEPS, _WIDE_STEPS, 32, 3).transpose(0, 1, 3, 2, 4)
    loads = wide.reshape(tiles, steps // _WIDE_STEPS, 32, 3, 4)
    return np.ascontiguousarray(loads.transpose(0, 1, 3, 2, 4))


def _unpack_three_bits(tiles: npt.NDArray[np.uint32]) -> Codes:
    num_tiles, num_wide = tiles.shape[:2]
    wide = tiles.transpose(0, 1, 3, 2, 4).reshape(num_tiles, num_wide, 32, _WIDE_STEPS, 3)
    words = wide.transpose(0, 1, 3, 2, 4).reshape(num_tiles, num_wide * _WIDE_STEPS, 32, 3)
    pairs = [
        (words[..., pair // _PAIRS_PER_WORD] >> np.uint32(3 * (pair % _PAIRS_PER_WORD)))
        for pair in range(_LAST_PAIR)
    ]
    last = sum(
        ((words[..., bit] >> np.uint32(15)) & np.uint32(0x00010001)) << np.uint32(bit)
        for bit in range(3)
    )
    both = np.stack([*pairs, last], axis=-1)
    values = np.stack([both & np.uint32(7), (both >> np.uint32(16)) & np.uint32(7)], axis=-1)
    return values.astype(np.uint8).reshape(*values.shape[:3], 4, 8)

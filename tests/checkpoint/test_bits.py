"""The byte layout of packed codes: golden bytes, and round trips at every width."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.checkpoint.bits import pack_codes, unpack_codes


def _bytes(codes: list[int], bits: int) -> list[int]:
    return pack_codes(np.array([codes], np.uint8), bits)[0].tolist()


def test_four_bits_put_the_even_column_in_the_low_nibble() -> None:
    assert _bytes([0x1, 0x2, 0xF, 0x0], 4) == [0x21, 0x0F]
    assert _bytes([0x1, 0x2, 0xA], 4) == [0x21, 0x0A]  # odd width: the last high nibble is zero


def test_three_bits_are_a_little_endian_stream_of_eight_codes_in_three_bytes() -> None:
    codes = [1, 2, 3, 4, 5, 6, 7, 0]
    stream = sum(code << 3 * i for i, code in enumerate(codes))
    assert _bytes(codes, 3) == list(stream.to_bytes(3, "little")) == [0xD1, 0x58, 0x1F]
    assert _bytes([7, 7, 7], 3) == [0xFF, 0x01]  # nine bits: two bytes a row


def test_eight_bits_are_the_codes() -> None:
    assert _bytes([0, 128, 255], 8) == [0, 128, 255]


@pytest.mark.parametrize(("bits", "packed"), [(3, [0x1C]), (4, [0x3C]), (8, [0xFC, 0x03])])
def test_signed_codes_are_twos_complement(bits: int, packed: list[int]) -> None:
    assert pack_codes(np.array([[-4, 3]], np.int8), bits)[0].tolist() == packed
    assert unpack_codes(np.array([packed], np.uint8), bits, 2, signed=True)[0].tolist() == [-4, 3]


@settings(deadline=None)
@given(
    bits=st.sampled_from([3, 4, 8]),
    shape=st.tuples(st.integers(1, 5), st.integers(1, 70)),
    signed=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_round_trip(bits: int, shape: tuple[int, int], signed: bool, seed: int) -> None:
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)
    codes = (
        np.random.default_rng(seed)
        .integers(low, high, shape)
        .astype(np.int8 if signed else np.uint8)
    )
    packed = pack_codes(codes, bits)
    assert packed.shape == (shape[0], -(-shape[1] * bits // 8))
    assert packed.flags.c_contiguous
    unpacked = unpack_codes(packed, bits, shape[1], signed=signed)
    assert unpacked.dtype == codes.dtype
    assert np.array_equal(unpacked, codes)


@settings(deadline=None)
@given(bits=st.sampled_from([3, 4]), codes=st.lists(st.integers(0, 7), min_size=1, max_size=40))
def test_packing_is_the_bitstream(bits: int, codes: list[int]) -> None:
    stream = sum(code << bits * i for i, code in enumerate(codes))
    assert _bytes(codes, bits) == list(stream.to_bytes(-(-len(codes) * bits // 8), "little"))


def test_packing_takes_strided_codes() -> None:
    codes = np.arange(64, dtype=np.uint8).reshape(4, 16)[:, ::2] & 15
    assert np.array_equal(pack_codes(codes, 4), pack_codes(np.ascontiguousarray(codes), 4))

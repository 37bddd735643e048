// From rows of a checkpoint's bitstream to the quads of a block (tiles.h), sixteen rows at a time.
#pragma once

#include <string.h>

#include "core.h"
#include "core_decode.h"

namespace {

using di::PackedRows;

// Two's-complement codes become unsigned by their top bit: sign_of<C>() repeats it in every byte of a quad.
template <Codes C>
constexpr uint32_t sign_of() {
    return C == Codes::kInt8 ? 0x80808080u : C == Codes::kInt4 ? 0x08080808u : 0x04040404u;
}

// Nibbles 0 to 3 of the low half of every lane, one a byte.
inline Quad spread_nibbles(Quad q) {
    q = mask(q, 0xffffu);
    q = mask(q | shift_left<8>(q), 0x00ff00ffu);
    return mask(q | shift_left<4>(q), 0x0f0f0f0fu);
}

// Eight words of 16 rows -> a step of int6 codes, of a checkpoint's int8 ones.
inline void pack_step_of_six(const Quad* words, uint8_t* step) {
    Quad codes[8];
    for (int k = 0; k < 8; ++k) codes[k] = mask(words[k], 0x3f3f3f3fu) ^ repeat(0x20202020u);
    for (int k = 0; k < 8; k += 2) {
        store_quad(step + 32 * k, mask(codes[k], 0x0f0f0f0fu) | shift_left<4>(mask(codes[k + 1], 0x0f0f0f0fu)));
    }
    for (int k = 0; k < 8; k += 4) {
        const Quad low = mask(shift_right<4>(codes[k]), 0x03030303u) | mask(shift_right<2>(codes[k + 1]), 0x0c0c0c0cu);
        const Quad high = mask(codes[k + 2], 0x30303030u) | mask(shift_left<2>(codes[k + 3]), 0xc0c0c0c0u);
        store_quad(step + 256 + 16 * k, low | high);
    }
}

// Words of 16 rows -> one quad of int4 or int8 codes each.
template <Codes C>
inline void pack_words(const Quad* words, int count, Quad flip, uint8_t* tile) {
    for (int i = 0; i < count; ++i) {
        Quad q = words[i];
        if constexpr (C == Codes::kInt4) {
            const Quad low = spread_nibbles(q) ^ flip, high = spread_nibbles(shift_right<16>(q)) ^ flip;
            q = low | shift_left<4>(high);
        } else {
            q = q ^ flip;
        }
        store_quad(tile + static_cast<size_t>(i) * 64, q);
    }
}

// Code C of the 32 that three words of a row hold, in the low bits of its lane.
template <int C>
inline Quad three_bits(const Quad* words) {
    constexpr int kBit = 3 * C, kWord = kBit / 32, kShift = kBit % 32;
    Quad q = shift_right<kShift>(words[kWord]);
    if constexpr (kShift > 29) q = q | shift_left<32 - kShift>(words[kWord + 1]);
    return mask(q, 7u);
}

// The low two bits of code C go to byte C % 4 of word C / 16, its high bit to that byte of word 2.
template <int C>
inline void pack_three_bits(const Quad* words, Quad flip, Quad* out) {
    if constexpr (C < 32) {
        const Quad code = three_bits<C>(words) ^ flip;
        constexpr int kByte = 8 * (C % 4);
        out[C / 16] = out[C / 16] | shift_left<kByte + 2 * (C % 16 / 4)>(mask(code, 3u));
        out[2] = out[2] | shift_left<kByte + C / 4>(shift_right<2>(code));
        pack_three_bits<C + 1>(words, flip, out);
    }
}

inline void pack_step_of_three(const Quad* words, Quad flip, uint8_t* tile) {
    const Quad zero = mask(flip, 0u);
    Quad out[3] = {zero, zero, zero};
    pack_three_bits<0>(words, mask(flip, 7u), out);
    for (int i = 0; i < 3; ++i) store_quad(tile + i * 64, out[i]);
}

// Bytes [begin, begin + size) of all rows, zeros where a row has ended, as sixteen quads of words.
inline void load_words(const PackedRows& rows, size_t begin, size_t size, Quad* words) {
    uint32_t block[16][16];
    const size_t left = begin < rows.row_bytes ? rows.row_bytes - begin : 0, length = left < size ? left : size;
    if (length < size || rows.count < 16) memset(block, 0, sizeof block);
    for (int r = 0; r < rows.count; ++r) memcpy(block[r], rows.data + static_cast<size_t>(r) * rows.row_bytes + begin, length);
    transpose(block, words);
}

template <Codes C>
void pack_rows_of(const PackedRows& rows, int32_t begin, int32_t columns, uint8_t* target) {
    constexpr int kWords = C == Codes::kInt3 ? 12 : 16;  // a divisor of what a block has
    constexpr int kStepWords = C == Codes::kInt6 ? 8 : static_cast<int>(C);  // of a row's 32 columns in the checkpoint
    const int num_words = columns / 32 * kStepWords;
    const size_t at = static_cast<size_t>(begin / 32) * kStepWords * 4;
    const Quad flip = repeat(rows.is_signed ? sign_of<C>() : 0u);
    for (int first = 0; first < num_words; first += kWords) {
        const int rest = num_words - first, count = rest < kWords ? rest : kWords;
        Quad words[16];
        load_words(rows, at + static_cast<size_t>(first) * 4, kWords * 4, words);
        uint8_t* out = target + static_cast<size_t>(first / kStepWords) * step_bytes(C);
        if constexpr (C == Codes::kInt3) {
            for (int i = 0; i < count; i += 3) pack_step_of_three(words + i, flip, out + i * 64);
        } else if constexpr (C == Codes::kInt6) {
            for (int i = 0; i < count; i += 8) pack_step_of_six(words + i, out + i / 8 * step_bytes(C));
        } else {
            pack_words<C>(words, count, flip, out);
        }
    }
}

void pack_rows(Codes codes, const PackedRows& rows, int32_t begin, int32_t columns, uint8_t* target) {
    switch (codes) {
        case Codes::kInt3: return pack_rows_of<Codes::kInt3>(rows, begin, columns, target);
        case Codes::kInt6: return pack_rows_of<Codes::kInt6>(rows, begin, columns, target);
        case Codes::kInt4: return pack_rows_of<Codes::kInt4>(rows, begin, columns, target);
        default: return pack_rows_of<Codes::kInt8>(rows, begin, columns, target);
    }
}

}  // namespace

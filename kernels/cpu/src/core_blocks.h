// The codes of ggml's blocks as the native format packs them: what app/converter/sources/gguf_codes.py defines.
//
// Plain loops over bytes with constant shifts, which compilers turn into vector code.
#pragma once

#include <stdint.h>
#include <string.h>

#include "core.h"

namespace {

// Eight codes of three bits a word: neighbours move together in three steps, until 24 bits are left.
template <int N>
inline void pack_three_bits(const uint8_t* codes, uint8_t* out) {
    uint64_t words[N / 8];
    memcpy(words, codes, N);
    for (uint64_t& word : words) {
        word &= 0x0707070707070707u;
        word = (word | word >> 5) & 0x003f003f003f003fu;
        word = (word | word >> 10) & 0x00000fff00000fffu;
        word |= word >> 20;
    }
    for (int i = 0; i + 1 < N / 8; ++i) memcpy(out + 3 * i, &words[i], 4);  // the fourth byte is the next one's first
    memcpy(out + 3 * (N / 8 - 1), &words[N / 8 - 1], 3);
}

// The low nibbles of eight bytes in four.
inline uint32_t join_nibbles(uint64_t word) {
    word &= 0x0f0f0f0f0f0f0f0fu;
    word = (word | word >> 4) & 0x00ff00ff00ff00ffu;
    word = (word | word >> 8) & 0x0000ffff0000ffffu;
    return static_cast<uint32_t>(word | word >> 16);
}

// N low, then N high nibbles of N bytes, two codes a byte, the bits of FLIP inverted.
template <int N, uint32_t FLIP>
inline void repack_nibbles(const uint8_t* qs, uint8_t* out) {
    for (int i = 0; i < N; i += 8) {
        uint64_t word;
        memcpy(&word, qs + i, 8);
        const uint32_t low = join_nibbles(word) ^ FLIP, high = join_nibbles(word >> 4) ^ FLIP;
        memcpy(out + i / 2, &low, 4);
        memcpy(out + N / 2 + i / 2, &high, 4);
    }
}

template <uint32_t FLIP>
void unpack_q4(const uint8_t* block, uint8_t* out, int start) {
    repack_nibbles<16, FLIP>(block + start, out);
}
void unpack_q4_0(const uint8_t* block, uint8_t* out) { unpack_q4<0x88888888u>(block, out, 2); }
void unpack_q4_1(const uint8_t* block, uint8_t* out) { unpack_q4<0>(block, out, 4); }

void unpack_q4_k(const uint8_t* block, uint8_t* out) {
    for (int i = 0; i < 4; ++i) repack_nibbles<32, 0>(block + 16 + 32 * i, out + 32 * i);
}

// Q5_0 and Q5_1: bit i of a u32 is bit 4 of code i.
template <int ZERO>
void unpack_q5(const uint8_t* bits, uint8_t* out) {
    uint32_t high;
    memcpy(&high, bits, 4);
    const uint8_t* qs = bits + 4;
    for (int i = 0; i < 16; ++i) {
        out[i] = static_cast<uint8_t>(((qs[i] & 15) | (high >> i & 1) << 4) - ZERO);
        out[16 + i] = static_cast<uint8_t>(((qs[i] >> 4) | (high >> (16 + i) & 1) << 4) - ZERO);
    }
}
void unpack_q5_0(const uint8_t* block, uint8_t* out) { unpack_q5<16>(block + 2, out); }
void unpack_q5_1(const uint8_t* block, uint8_t* out) { unpack_q5<0>(block + 4, out); }

void unpack_q8_0(const uint8_t* block, uint8_t* out) { memcpy(out, block + 2, 32); }

// Two bits of each of 32 bytes, the lowest first, to four runs of 32 codes; PLANE >= 0 adds a third bit, which is that
// of `mask` inverted, from bit PLANE on.
template <int PLANE>
inline void split_two_bits(const uint8_t* qs, const uint8_t* mask, uint8_t* codes) {
    for (int run = 0; run < 4; ++run) {
        for (int i = 0; i < 32; ++i) {
            uint8_t code = qs[i] >> (2 * run) & 3;
            if constexpr (PLANE >= 0) code |= static_cast<uint8_t>((~mask[i] >> (PLANE + run) & 1) << 2);
            codes[32 * run + i] = code;
        }
    }
}

void unpack_q2_k(const uint8_t* block, uint8_t* out) {
    uint8_t codes[256];
    for (int half = 0; half < 2; ++half) split_two_bits<-1>(block + 16 + 32 * half, nullptr, codes + 128 * half);
    pack_three_bits<256>(codes, out);
}

void unpack_q3_k(const uint8_t* block, uint8_t* out) {
    uint8_t codes[256];
    split_two_bits<0>(block + 32, block, codes);
    split_two_bits<4>(block + 64, block, codes + 128);
    pack_three_bits<256>(codes, out);
}

void unpack_q5_k(const uint8_t* block, uint8_t* out) {
    const uint8_t *high = block + 16, *qs = block + 48;
    for (int pair = 0; pair < 4; ++pair) {
        for (int i = 0; i < 32; ++i) {
            const uint8_t byte = qs[32 * pair + i];
            out[64 * pair + i] = static_cast<uint8_t>((byte & 15) | (high[i] >> (2 * pair) & 1) << 4);
            out[64 * pair + 32 + i] = static_cast<uint8_t>((byte >> 4) | (high[i] >> (2 * pair + 1) & 1) << 4);
        }
    }
}

void unpack_q6_k(const uint8_t* block, uint8_t* out) {
    for (int half = 0; half < 2; ++half) {
        const uint8_t *low = block + 64 * half, *high = block + 128 + 32 * half;
        uint8_t* codes = out + 128 * half;
        for (int i = 0; i < 32; ++i) {
            codes[i] = static_cast<uint8_t>(((low[i] & 15) | (high[i] & 3) << 4) - 32);
            codes[32 + i] = static_cast<uint8_t>(((low[32 + i] & 15) | (high[i] >> 2 & 3) << 4) - 32);
            codes[64 + i] = static_cast<uint8_t>(((low[i] >> 4) | (high[i] >> 4 & 3) << 4) - 32);
            codes[96 + i] = static_cast<uint8_t>(((low[32 + i] >> 4) | (high[i] >> 6) << 4) - 32);
        }
    }
}

constexpr int8_t kIq4Values[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int8_t kDoubledE2m1[] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Of every 16 bytes what the low, then what the high nibbles mean.
template <int N>
inline void look_up(const int8_t (&values)[16], const uint8_t* qs, uint8_t* out) {
    for (int start = 0; start < N; start += 16) {
        for (int i = 0; i < 16; ++i) {
            out[2 * start + i] = static_cast<uint8_t>(values[qs[start + i] & 15]);
            out[2 * start + 16 + i] = static_cast<uint8_t>(values[qs[start + i] >> 4]);
        }
    }
}
void unpack_iq4_nl(const uint8_t* block, uint8_t* out) { look_up<16>(kIq4Values, block + 2, out); }
void unpack_iq4_xs(const uint8_t* block, uint8_t* out) { look_up<128>(kIq4Values, block + 8, out); }
void unpack_mxfp4(const uint8_t* block, uint8_t* out) { look_up<16>(kDoubledE2m1, block + 1, out); }

// N bytes of base-3 digits to `places` runs of N codes: the digit is the whole part of three times byte / 256.
template <int N>
inline void split_digits(const uint8_t* bytes, int places, uint8_t* codes) {
    uint8_t fractions[N];
    memcpy(fractions, bytes, N);
    for (int place = 0; place < places; ++place) {
        for (int i = 0; i < N; ++i) {
            const uint8_t fraction = fractions[i];
            codes[N * place + i] = static_cast<uint8_t>((fraction > 85) + (fraction > 170) - 1);
            fractions[i] = static_cast<uint8_t>(3 * fraction);
        }
    }
}

void unpack_tq1_0(const uint8_t* block, uint8_t* out) {
    uint8_t codes[256];
    split_digits<32>(block, 5, codes);
    split_digits<16>(block + 32, 5, codes + 160);
    split_digits<4>(block + 48, 4, codes + 240);
    pack_three_bits<256>(codes, out);
}

void unpack_tq2_0(const uint8_t* block, uint8_t* out) {
    uint8_t codes[256];
    for (int half = 0; half < 2; ++half) split_two_bits<-1>(block + 32 * half, nullptr, codes + 128 * half);
    for (uint8_t& code : codes) code = static_cast<uint8_t>(code - 1);
    pack_three_bits<256>(codes, out);
}

struct BlockType {
    const char* name;
    int32_t block_bytes, packed_bytes;
    void (*unpack)(const uint8_t* block, uint8_t* out);
};

constexpr BlockType kBlockTypes[] = {
    {"Q4_0", 18, 16, unpack_q4_0},     {"Q4_1", 20, 16, unpack_q4_1},     {"Q5_0", 22, 32, unpack_q5_0},
    {"Q5_1", 24, 32, unpack_q5_1},     {"Q2_K", 84, 96, unpack_q2_k},     {"Q3_K", 110, 96, unpack_q3_k},
    {"Q4_K", 144, 128, unpack_q4_k},   {"Q5_K", 176, 256, unpack_q5_k},   {"Q6_K", 210, 256, unpack_q6_k},
    {"IQ4_NL", 18, 32, unpack_iq4_nl}, {"IQ4_XS", 136, 256, unpack_iq4_xs}, {"MXFP4", 17, 32, unpack_mxfp4},
    {"TQ1_0", 54, 96, unpack_tq1_0},   {"TQ2_0", 66, 96, unpack_tq2_0},   {"Q8_0", 34, 32, unpack_q8_0},
};

// False for a type that it does not know, with these sizes.
bool unpack_blocks(const di::Blocks& blocks, uint8_t* packed) {
    for (const BlockType& type : kBlockTypes) {
        if (strcmp(type.name, blocks.type) != 0) continue;
        if (type.block_bytes != blocks.block_bytes || type.packed_bytes != blocks.packed_bytes) return false;
        for (int64_t i = 0; i < blocks.count; ++i) {
            type.unpack(blocks.data + i * type.block_bytes, packed + i * type.packed_bytes);
        }
        return true;
    }
    return false;
}

}  // namespace

#include "cuda_tiles.h"

#include <stdexcept>
#include <string.h>

namespace di {

namespace {

constexpr int kTileRows = 16, kHalfRows = 8, kStepColumns = 64, kFragments = 4, kLanes = 32;
constexpr int kRowBytes = kStepColumns * 2;  // of a step of the widest codes

// A step of a tile: rows of kStepColumns codes from their first byte on.
struct Step {
    alignas(16) uint8_t rows[kTileRows][kRowBytes];
};

template <class T>
inline T load(const uint8_t* at) {
    T value;
    memcpy(&value, at, sizeof value);
    return value;
}

template <class T>
inline void store(uint8_t* at, T value) {
    memcpy(at, &value, sizeof value);
}

// The sign bit of every code, as the bytes of a step's row.
void fill_signs(int bits, uint8_t* signs) {
    memset(signs, 0, kRowBytes);
    for (int bit = bits - 1; bit < kStepColumns * bits; bit += bits) signs[bit / 8] |= static_cast<uint8_t>(1 << bit % 8);
}

// What stands beyond the rows and columns that exist is 0.
template <int kBits>
void load_step(const CodeRows& from, int64_t first_row, int64_t first_column, const uint8_t* signs, Step& step) {
    constexpr size_t kBytes = size_t{kBits} * kStepColumns / 8;
    const int64_t left = from.num_columns - first_column, num_rows = from.num_rows - first_row;
    const int valid_bits = static_cast<int>(left < 0 ? 0 : left < kStepColumns ? left : kStepColumns) * kBits;
    const size_t count = static_cast<size_t>(valid_bits + 7) / 8;
    const uint8_t* data = from.data + first_row * from.row_bytes + first_column / 8 * kBits;
    for (int r = 0; r < kTileRows; ++r) {
        uint8_t* row = step.rows[r];
        const bool is_whole = r < num_rows && left >= kStepColumns;
        if (is_whole) {
            memcpy(row, data + r * from.row_bytes, kBytes);
        } else {
            memset(row, 0, kBytes);
            if (r < num_rows && count) memcpy(row, data + r * from.row_bytes, count);
        }
        if (from.is_signed && r < num_rows) {
            for (size_t i = 0; i < kBytes; i += 8) store(row + i, load<uint64_t>(row + i) ^ load<uint64_t>(signs + i));
        }
        if (is_whole) continue;
        memset(row + count, 0, kBytes - count);
        if (count && valid_bits % 8) row[count - 1] &= static_cast<uint8_t>((1 << valid_bits % 8) - 1);
    }
}

// Of bytes 0 to 3 of four words: words of the bytes 0, 1, 2, 3 of all.
inline void transpose(uint32_t (&w)[4]) {
    constexpr uint32_t kEven = 0x00ff00ffu, kLow = 0xffffu;
    const uint32_t even = (w[0] & kEven) | (w[1] & kEven) << 8, odd = (w[0] >> 8 & kEven) | (w[1] & ~kEven);
    const uint32_t even2 = (w[2] & kEven) | (w[3] & kEven) << 8, odd2 = (w[2] >> 8 & kEven) | (w[3] & ~kEven);
    w[0] = (even & kLow) | even2 << 16, w[1] = (odd & kLow) | odd2 << 16;
    w[2] = even >> 16 | (even2 & ~kLow), w[3] = odd >> 16 | (odd2 & ~kLow);
}

// [32 lanes][4 fragments] words. A byte holds two neighbours of a row: low nibbles of rows g and g + 8 are one byte of a
// word, high ones another, for four lanes at once.
void pack_nibbles(const Step& step, uint8_t* out) {
    constexpr uint32_t kLow = 0x0f0f0f0fu;
    for (int g = 0; g < kHalfRows; ++g) {
        for (int f = 0; f < kFragments; ++f) {
            const uint8_t *upper = step.rows[g] + 8 * f, *lower = step.rows[g + kHalfRows] + 8 * f;
            const uint32_t a = load<uint32_t>(upper), a8 = load<uint32_t>(upper + 4);
            const uint32_t b = load<uint32_t>(lower), b8 = load<uint32_t>(lower + 4);
            uint32_t words[4] = {(a & kLow) | (b & kLow) << 4, (a8 & kLow) | (b8 & kLow) << 4,
                                 (a >> 4 & kLow) | (b & ~kLow), (a8 >> 4 & kLow) | (b8 & ~kLow)};
            transpose(words);
            for (int t = 0; t < 4; ++t) store(out + ((g * 4 + t) * kFragments + f) * 4, words[t]);
        }
    }
}

// [64 / kColumns][32 lanes][16 bytes]: pairs of a row's neighbours as they are, of rows g and g + 8, then 8 columns on.
// `Pair` is two codes, and a load has kColumns columns.
template <class Pair>
void pack_pairs(const Step& step, uint8_t* out) {
    constexpr int kPairBytes = sizeof(Pair), kLoadFragments = 4 / kPairBytes;
    for (int f = 0; f < kFragments; ++f) {
        uint8_t* load_out = out + f / kLoadFragments * (kLanes * 16) + f % kLoadFragments * 4 * kPairBytes;
        for (int lane = 0; lane < kLanes; ++lane) {
            const int g = lane / 4, at = (8 * f + lane % 4) * kPairBytes;
            for (int r = 0; r < 4; ++r) {
                const uint8_t* row = step.rows[g + r % 2 * kHalfRows];
                store(load_out + lane * 16 + r * kPairBytes, load<Pair>(row + at + r / 2 * 4 * kPairBytes));
            }
        }
    }
}

// A pair of three-bit codes as low three bits of either half of a word.
inline uint32_t spread(uint32_t pair) { return (pair & 7u) | (pair & 56u) << 13; }

constexpr int kPairsPerWord = 5, kLastPair = 15;

// Three words of each lane, lanes with the same t = lane % 4 in words[w][g]; columns[i][r] has 8 codes of row r.
template <int T>
inline void pack_three_bits_of(const uint32_t (&columns)[8][kTileRows], uint32_t (&words)[3][kHalfRows]) {
    memset(words, 0, sizeof words);
    for (int pair = 0; pair < kLastPair; ++pair) {
        const uint32_t* from = columns[pair / 4 * 2 + pair % 4 / 2] + pair % 2 * kHalfRows;
        uint32_t* to = words[pair / kPairsPerWord];
        const int place = 3 * (pair % kPairsPerWord);
        for (int g = 0; g < kHalfRows; ++g) to[g] |= spread(from[g] >> 6 * T) << place;
    }
    for (int bit = 0; bit < 3; ++bit) {
        const uint32_t* from = columns[7] + kHalfRows;
        for (int g = 0; g < kHalfRows; ++g) words[bit][g] |= (spread(from[g] >> 6 * T) >> bit & 0x00010001u) << 15;
    }
}

template <int T>
inline void store_three_bits(const uint32_t (&columns)[8][kTileRows], int step_index, uint8_t* out) {
    uint32_t words[3][kHalfRows];
    pack_three_bits_of<T>(columns, words);
    for (int w = 0; w < 3; ++w) {
        const int word = 3 * step_index + w;
        for (int g = 0; g < kHalfRows; ++g) store(out + ((word / 4 * kLanes + g * 4 + T) * 4 + word % 4) * 4, words[w][g]);
    }
}

// Step 0 to 3 of [3 loads][32 lanes][4] words.
void pack_three_bits(const Step& step, int step_index, uint8_t* out) {
    uint32_t columns[8][kTileRows];
    for (int i = 0; i < 8; ++i) {
        for (int r = 0; r < kTileRows; ++r) columns[i][r] = load<uint32_t>(step.rows[r] + 3 * i);
    }
    store_three_bits<0>(columns, step_index, out);
    store_three_bits<1>(columns, step_index, out);
    store_three_bits<2>(columns, step_index, out);
    store_three_bits<3>(columns, step_index, out);
}

template <int kBits>
void pack_step(const Step& step, int64_t index, uint8_t* tile) {
    constexpr int kWideSteps = 4, kBytes = kTileRows * kStepColumns * kBits / 8;
    uint8_t* out = tile + index * kBytes;
    if constexpr (kBits == 3) pack_three_bits(step, static_cast<int>(index % kWideSteps), out - index % kWideSteps * kBytes);
    if constexpr (kBits == 4) pack_nibbles(step, out);
    if constexpr (kBits == 8) pack_pairs<uint16_t>(step, out);
    if constexpr (kBits == 16) pack_pairs<uint32_t>(step, out);
}

// Rows are padded to whole units: the steps that a warp loads together.
template <int kBits, int kUnitSteps>
void pack_tiles(const CodeRows& rows, uint8_t* tiles) {
    constexpr int64_t kUnitColumns = kStepColumns * kUnitSteps;
    uint8_t signs[kRowBytes];
    fill_signs(kBits, signs);
    const int64_t num_steps = (rows.num_columns + kUnitColumns - 1) / kUnitColumns * kUnitSteps;
    for (int64_t first = 0; first < rows.num_rows; first += kTileRows) {
        for (int64_t index = 0; index < num_steps; ++index) {
            Step step;
            load_step<kBits>(rows, first, index * kStepColumns, signs, step);
            pack_step<kBits>(step, index, tiles);
        }
        tiles += num_steps * kTileRows * kStepColumns * kBits / 8;
    }
}

}  // namespace

void pack_cuda_tiles(const CodeRows& rows, uint8_t* tiles) {
    if (rows.num_rows < 0 || rows.num_columns <= 0 || rows.row_bytes < (int64_t{rows.num_columns} * rows.bits + 7) / 8) {
        throw std::invalid_argument("rows are shorter than their columns");
    }
    switch (rows.bits) {
        case 3: return pack_tiles<3, 4>(rows, tiles);
        case 4: return pack_tiles<4, 2>(rows, tiles);
        case 8: return pack_tiles<8, 2>(rows, tiles);
        case 16: return pack_tiles<16, 1>(rows, tiles);
        default: throw std::invalid_argument("there are no tiles of so many bits");
    }
}

}  // namespace di

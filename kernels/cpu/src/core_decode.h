// From tiles back to numbers: quads of codes, group scales, float32 columns.
#pragma once

#include "simd.h"
#include "tiles.h"

namespace {

using di::Block;
using di::Codes;
using di::kBlockColumns;
using di::kTileRows;
using di::Scheme;
using di::scale_bytes;
using di::ScaleType;
using di::Tiles;

constexpr size_t step_bytes(Codes codes) {  // of 32 columns x 16 rows
    return codes == Codes::kInt8 ? 512 : codes == Codes::kInt6 ? 384 : codes == Codes::kInt4 ? 256 : 192;
}

// Bits FROM and FROM + 1 of every byte move to TO and TO + 1; the other bits are noise.
template <int FROM, int TO>
inline Quad move_bits(Quad q) {
    if constexpr (FROM < TO) return shift_left<TO - FROM>(q);
    if constexpr (FROM > TO) return shift_right<FROM - TO>(q);
    return q;
}

// Low nibbles of quad K of int4 or int6 codes.
template <int K>
inline Quad low_nibbles(const uint8_t* step) {
    const Quad pair = load_quad(step + 64 * (K / 2));
    return mask(K % 2 ? shift_right<4>(pair) : pair, 0x0f0f0f0fu);
}

// The high two bits of quad K of int6 codes, from bit TO of every byte on.
template <int K, int TO>
inline Quad high_pairs(const uint8_t* step) {
    return mask(move_bits<2 * (K % 4), TO>(load_quad(step + 256 + 64 * (K / 4))), 0x03030303u << TO);
}

// What turns a code + 32 into the code + 128 of int8.
constexpr uint32_t kInt6Offset = 128 - 32;

// Quad K (columns 4K .. 4K+3) of a 32-column step of codes.
template <Codes C, int K>
inline Quad quad_at(const uint8_t* step) {
    if constexpr (C == Codes::kInt8) return load_quad(step + 64 * K);
    if constexpr (C == Codes::kInt4) return low_nibbles<K>(step);
    if constexpr (C == Codes::kInt6) {
        return (low_nibbles<K>(step) | high_pairs<K, 4>(step)) + repeat(kInt6Offset * 0x01010101u);
    }
    const Quad low = shift_right<2 * (K % 4)>(load_quad(step + 64 * (K / 4)));
    const Quad high = move_bits<K, 2>(load_quad(step + 128));
    return mask(low, 0x03030303u) | mask(high, 0x04040404u);
}

// Sixteen values each of a block's groups: scales, or biases stored the same way. `take(group, values)` gets them in
// order; the kind is asked once a block.
template <typename F>
inline void for_values(ScaleType type, const uint8_t* values, const uint8_t* supers, int count, F&& take) {
    const bool is_signed = type == ScaleType::kTwoLevelI8;
    if (type == ScaleType::kF16) {
        for (int g = 0; g < count; ++g) take(g, load_f16(values + g * 32));
    } else if (type == ScaleType::kF32) {
        for (int g = 0; g < count; ++g) take(g, load(reinterpret_cast<const float*>(values) + g * 16));
    } else {
        const F32x16 unit = load_f16(supers);
        for (int g = 0; g < count; ++g) take(g, unit * (is_signed ? load_i8(values + g * 16) : load_u8(values + g * 16)));
    }
}

template <typename F>
inline void for_scales(const Tiles& w, const uint8_t* tile, const Block& block, F&& take) {
    const uint8_t* values = tile + block.values;
    for_values(w.scale_type, values + block.layout->scales, values + block.layout->super_scales, block.num_groups, take);
}

template <typename F>
inline void for_biases(const Tiles& w, const uint8_t* tile, const Block& block, F&& take) {
    const uint8_t* values = tile + block.values;
    for_values(w.bias_type, values + block.layout->biases, values + block.layout->super_biases, block.num_groups, take);
}

inline F32x16 zero_of(const Tiles& w, const uint8_t* tile, const Block& block, int group) {
    if (w.scheme == Scheme::kSym) {
        const Codes read = w.codes == Codes::kInt6 ? Codes::kInt8 : w.codes;  // what quads are read as
        return broadcast(static_cast<float>(1 << (static_cast<int>(read) - 1)));
    }
    return load_u8(tile + block.values + block.layout->zeros + group * 16);
}

// w = (code - zero) * scale + bias, for the sixteen rows of one group.
struct GroupScale {
    F32x16 scale, zero, bias;
};

constexpr int kMaxGroups = kBlockColumns / 16;  // of a block

inline void read_scales(const Tiles& w, const uint8_t* tile, const Block& block, GroupScale* groups) {
    const bool is_affine = w.scheme == Scheme::kAffine;
    for_scales(w, tile, block, [&](int g, F32x16 scale) {
        groups[g] = {scale, is_affine ? zero_f32() : zero_of(w, tile, block, g), zero_f32()};
    });
    if (is_affine) for_biases(w, tile, block, [&](int g, F32x16 bias) { groups[g].bias = bias; });
}

template <Codes C, int K, int END>
inline void decode_quads(const GroupScale& g, const uint8_t* step, float* out) {
    if constexpr (K < END) {
        const Quad q = quad_at<C, K>(step);
        store(out, (column<0>(q) - g.zero) * g.scale + g.bias);
        store(out + 16, (column<1>(q) - g.zero) * g.scale + g.bias);
        store(out + 32, (column<2>(q) - g.zero) * g.scale + g.bias);
        store(out + 48, (column<3>(q) - g.zero) * g.scale + g.bias);
        decode_quads<C, K + 1, END>(g, step, out + 64);
    }
}

// A block as float32 [column][16]. Each operation rounds once, as the format defines, so the result equals the reference
// decoder bit for bit.
template <Codes C>
void decode_quantized(const Tiles& w, const uint8_t* tile, const Block& block, float* out) {
    GroupScale groups[kMaxGroups];
    read_scales(w, tile, block, groups);
    const uint8_t* step = tile + block.codes;
    for (int c = 0; c < block.columns; c += 32, out += 32 * kTileRows, step += step_bytes(C)) {
        decode_quads<C, 0, 4>(groups[c / w.group_columns], step, out);
        decode_quads<C, 4, 8>(groups[(c + 16) / w.group_columns], step, out + 16 * kTileRows);
    }
}

template <Codes C>
inline F32x16 dense_column(const uint8_t* tile, int column0) {
    if constexpr (C == Codes::kF32) return load(reinterpret_cast<const float*>(tile) + column0 * 16);
    if constexpr (C == Codes::kF16) return load_f16(tile + static_cast<size_t>(column0) * 32);
    return load_bf16(tile + static_cast<size_t>(column0) * 32);
}

template <Codes C>
void decode_dense(const uint8_t* codes, const Block& block, float* out) {
    for (int c = 0; c < block.columns; ++c) store(out + c * 16, dense_column<C>(codes, c));
}

void decode_block(const Tiles& w, const uint8_t* tile, const Block& block, float* out) {
    switch (w.codes) {
        case Codes::kF32: return decode_dense<Codes::kF32>(tile + block.codes, block, out);
        case Codes::kF16: return decode_dense<Codes::kF16>(tile + block.codes, block, out);
        case Codes::kBf16: return decode_dense<Codes::kBf16>(tile + block.codes, block, out);
        case Codes::kInt3: return decode_quantized<Codes::kInt3>(w, tile, block, out);
        case Codes::kInt4: return decode_quantized<Codes::kInt4>(w, tile, block, out);
        case Codes::kInt6: return decode_quantized<Codes::kInt6>(w, tile, block, out);
        case Codes::kInt8: return decode_quantized<Codes::kInt8>(w, tile, block, out);
    }
}

void decode_row(const Tiles& w, int32_t row, float* out) {
    alignas(64) float columns[kBlockColumns * 16];
    const uint8_t* tile = w.data + static_cast<size_t>(row / kTileRows) * w.tile_bytes;
    for (int begin = 0; begin < w.padded_in; begin += kBlockColumns) {
        const Block block = block_at(w, begin);
        decode_block(w, tile, block, columns);
        for (int c = 0; c < block.columns; ++c) {
            out[begin + c] = begin + c < w.in_features ? columns[c * 16 + row % kTileRows] : 0.0f;
        }
    }
}

}  // namespace

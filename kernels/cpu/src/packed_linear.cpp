#include "packed_linear.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace di {

namespace {

bool is_two_level(ScaleType type) { return type == ScaleType::kTwoLevelU8 || type == ScaleType::kTwoLevelI8; }

size_t source_row_bytes(const Tiles& w) {
    if (w.codes == Codes::kF32) return static_cast<size_t>(w.in_features) * 4;
    if (is_dense(w.codes)) return static_cast<size_t>(w.in_features) * 2;
    return (static_cast<size_t>(w.in_features) * static_cast<size_t>(w.codes) + 7) / 8;
}

// Eight nibbles in column order -> byte j: column j low, column 4 + j high.
uint32_t interleave_nibbles(uint32_t codes) {
    const auto spread = [](uint32_t half) {
        half = (half | (half << 8)) & 0x00ff00ffu;
        return (half | (half << 4)) & 0x0f0f0f0fu;
    };
    return spread(codes & 0xffffu) | (spread(codes >> 16) << 4);
}

// The 32-bit words of one row go to its lane of consecutive 64-byte blocks.
void put_word(uint8_t* tile, size_t block, int lane, uint32_t word) { std::memcpy(tile + block * 64 + lane * 4, &word, 4); }

uint32_t word_at(const uint8_t* row, size_t index) {
    uint32_t word;
    std::memcpy(&word, row + index * 4, 4);
    return word;
}

void pack_int4(const Tiles& w, const uint8_t* row, uint8_t* tile, int lane) {
    const uint32_t flip = w.scheme == Scheme::kSym ? 0x88888888u : 0;  // two's complement -> unsigned
    for (int32_t i = 0; i < w.padded_in / 8; ++i) put_word(tile, i, lane, interleave_nibbles(word_at(row, i) ^ flip));
}

void pack_int8(const Tiles& w, const uint8_t* row, uint8_t* tile, int lane) {
    const uint32_t flip = w.scheme == Scheme::kSym ? 0x80808080u : 0;
    for (int32_t i = 0; i < w.padded_in / 4; ++i) put_word(tile, i, lane, word_at(row, i) ^ flip);
}

void pack_int3(const Tiles& w, const uint8_t* row, uint8_t* tile, int lane) {
    const uint32_t flip = w.scheme == Scheme::kSym ? 4 : 0;
    for (int32_t step = 0; step < w.padded_in / 32; ++step, row += 12) {
        uint32_t words[3] = {0, 0, 0};
        for (int c = 0; c < 32; ++c) {
            const int bit = 3 * c;
            const uint32_t pair = row[bit / 8] | (bit / 8 + 1 < 12 ? row[bit / 8 + 1] << 8 : 0);
            const uint32_t code = ((pair >> (bit % 8)) & 7u) ^ flip;
            words[c / 16] |= (code & 3u) << (8 * (c % 4) + 2 * (c % 16 / 4));
            words[2] |= (code >> 2) << (8 * (c % 4) + c / 4);
        }
        for (int i = 0; i < 3; ++i) put_word(tile, static_cast<size_t>(step) * 3 + i, lane, words[i]);
    }
}

template <typename T>
void pack_elements(const Tiles& w, const uint8_t* row, uint8_t* tile, int lane) {
    for (int32_t c = 0; c < w.in_features; ++c) {
        std::memcpy(tile + (static_cast<size_t>(c) * kTileRows + lane) * sizeof(T), row + c * sizeof(T), sizeof(T));
    }
}

void pack_codes(const Tiles& w, const uint8_t* row, uint8_t* tile, int lane) {
    switch (w.codes) {
        case Codes::kF32: return pack_elements<uint32_t>(w, row, tile, lane);
        case Codes::kF16:
        case Codes::kBf16: return pack_elements<uint16_t>(w, row, tile, lane);
        case Codes::kInt3: return pack_int3(w, row, tile, lane);
        case Codes::kInt4: return pack_int4(w, row, tile, lane);
        case Codes::kInt8: return pack_int8(w, row, tile, lane);
    }
}

// Per-row arrays [out][count] -> [count][16] of the tile.
void pack_groups(const void* source, size_t element, int32_t count, int32_t row, uint8_t* target, int lane) {
    if (!source) return;
    const uint8_t* values = static_cast<const uint8_t*>(source) + static_cast<size_t>(row) * count * element;
    for (int32_t g = 0; g < count; ++g) {
        std::memcpy(target + (static_cast<size_t>(g) * kTileRows + lane) * element, values + g * element, element);
    }
}

void require(bool condition, const char* what) {
    if (!condition) throw std::invalid_argument(what);
}

void check(const di_linear_source& s) {
    require(s.out_features > 0 && s.in_features > 0, "a linear has no rows or no columns");
    require(s.weight != nullptr, "a linear has no weights");
    const bool quantized = s.codes == 3 || s.codes == 4 || s.codes == 8;
    require(quantized || (s.codes >= 0 && s.codes <= 2), "unknown code width");
    if (!quantized) return;
    const int32_t g = s.group_size;
    require(g == 16 || g == 32 || g == 64 || g == 128 || g == -1, "unknown group size");
    require(s.scheme >= 0 && s.scheme <= 2 && s.scale_type >= 0 && s.scale_type <= 3, "unknown scheme");
    require(s.scales != nullptr, "scales are missing");
    require(s.scheme != 1 || s.zeros, "zeros are missing");
    require(s.scheme != 2 || s.biases, "biases are missing");
    require(s.scale_type < 2 || s.super_scales, "super_scales are missing");
    require(s.scheme != 2 || s.bias_type < 2 || s.super_biases, "super_biases are missing");
    require(g != -1 || s.scale_type < 2, "two-level scales need groups");
}

}  // namespace

PackedLinear::PackedLinear(const di_linear_source& source, ThreadPool& pool) {
    check(source);
    plan(source);
    data_ = page_array<uint8_t>(tiles_.tile_bytes * static_cast<size_t>(tiles_.num_tiles));
    tiles_.data = data_.get();
    const int32_t tiles_a_task = tiles_.num_tiles / 256 + 1;
    pool.parallel_for((tiles_.num_tiles + tiles_a_task - 1) / tiles_a_task, [&](int32_t task) {
        const int32_t end = std::min(tiles_.num_tiles, (task + 1) * tiles_a_task);
        for (int32_t tile = task * tiles_a_task; tile < end; ++tile) pack_tile(source, tile);
    });
    if (source.bias) {
        bias_ = page_array<float>(static_cast<size_t>(tiles_.num_tiles) * kTileRows);
        std::copy(source.bias, source.bias + source.out_features, bias_.get());
        tiles_.bias = bias_.get();
    }
    if (source.perm) {
        perm_.assign(source.perm, source.perm + source.in_features);
        for (int32_t p : perm_) require(p >= 0 && p < source.in_features, "perm points outside the input");
        tiles_.perm = perm_.data();
    }
}

void PackedLinear::plan(const di_linear_source& source) {
    Tiles& w = tiles_;
    w.out_features = source.out_features;
    w.in_features = source.in_features;
    w.padded_in = round_up(source.in_features, kColumnStep);
    w.num_tiles = round_up(source.out_features, kTileRows) / kTileRows;
    w.codes = static_cast<Codes>(source.codes);
    w.tile_bytes = static_cast<size_t>(w.padded_in / kColumnStep) * code_bytes_per_step(w.codes);
    if (is_dense(w.codes)) return;
    w.scheme = static_cast<Scheme>(source.scheme);
    w.scale_type = static_cast<ScaleType>(source.scale_type);
    w.bias_type = static_cast<ScaleType>(source.bias_type);
    w.group_columns = source.group_size == -1 ? w.padded_in : source.group_size;
    w.num_groups = source.group_size == -1 ? 1 : (w.in_features + w.group_columns - 1) / w.group_columns;
    // Groups of 16 are read two at a time, so the second half of the last step needs an entry, too.
    const size_t groups = static_cast<size_t>(round_up(w.num_groups, 2));
    const size_t supers = static_cast<size_t>((w.padded_in + kSuperColumns - 1) / kSuperColumns);
    const auto reserve = [&](size_t count, size_t element) {
        const size_t at = w.tile_bytes;
        w.tile_bytes += (count * element * kTileRows + 63) / 64 * 64;
        return at;
    };
    w.scales_at = reserve(groups, scale_bytes(w.scale_type));
    if (is_two_level(w.scale_type)) w.super_scales_at = reserve(supers, 2);
    if (w.scheme == Scheme::kZero) w.zeros_at = reserve(groups, 1);
    if (w.scheme == Scheme::kAffine) w.biases_at = reserve(groups, scale_bytes(w.bias_type));
    if (w.scheme == Scheme::kAffine && is_two_level(w.bias_type)) w.super_biases_at = reserve(supers, 2);
}

void PackedLinear::pack_tile(const di_linear_source& source, int32_t tile_index) {
    const Tiles& w = tiles_;
    uint8_t* tile = data_.get() + static_cast<size_t>(tile_index) * w.tile_bytes;
    const size_t row_bytes = source_row_bytes(w);
    std::vector<uint8_t> row_codes(static_cast<size_t>(w.padded_in) * 4);  // zeros after the row's end
    const int32_t supers = (w.in_features + kSuperColumns - 1) / kSuperColumns;
    for (int lane = 0; lane < kTileRows; ++lane) {
        const int32_t row = tile_index * kTileRows + lane;
        if (row >= w.out_features) return;
        std::memcpy(row_codes.data(), static_cast<const uint8_t*>(source.weight) + row * row_bytes, row_bytes);
        pack_codes(w, row_codes.data(), tile, lane);
        if (is_dense(w.codes)) continue;
        pack_groups(source.scales, scale_bytes(w.scale_type), w.num_groups, row, tile + w.scales_at, lane);
        if (is_two_level(w.scale_type)) pack_groups(source.super_scales, 2, supers, row, tile + w.super_scales_at, lane);
        if (w.scheme == Scheme::kZero) pack_groups(source.zeros, 1, w.num_groups, row, tile + w.zeros_at, lane);
        if (w.scheme != Scheme::kAffine) continue;
        pack_groups(source.biases, scale_bytes(w.bias_type), w.num_groups, row, tile + w.biases_at, lane);
        if (is_two_level(w.bias_type)) pack_groups(source.super_biases, 2, supers, row, tile + w.super_biases_at, lane);
    }
}

size_t PackedLinear::num_bytes() const {
    const size_t bias = bias_ ? static_cast<size_t>(tiles_.num_tiles) * kTileRows * sizeof(float) : 0;
    return tiles_.tile_bytes * static_cast<size_t>(tiles_.num_tiles) + bias + perm_.size() * sizeof(int32_t);
}

}  // namespace di

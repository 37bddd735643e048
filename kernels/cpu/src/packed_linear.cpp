#include "packed_linear.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>

namespace di {

namespace {

bool is_two_level(ScaleType type) { return type == ScaleType::kTwoLevelU8 || type == ScaleType::kTwoLevelI8; }

// Of quantized codes.
size_t source_row_bytes(const Tiles& w) {
    const size_t bits = w.codes == Codes::kInt6 ? 8 : static_cast<size_t>(w.codes);
    return (static_cast<size_t>(w.in_features) * bits + 7) / 8;
}

// Whether all of n two's-complement bytes are in -32..31: their top three bits are alike.
bool fits_six_bits(const uint8_t* codes, size_t n) {
    uint64_t differing = 0;
    for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, codes + i, std::min(n - i, sizeof word));
        differing |= (word ^ word << 1) & 0xc0c0c0c0c0c0c0c0u;
    }
    return differing == 0;
}

// Of all codes; what does not fit says so within its first piece, as a rule.
bool fits_six_bits(const di_linear_source& source, ThreadPool& pool) {
    constexpr size_t kPiece = 1 << 16;
    const uint8_t* codes = static_cast<const uint8_t*>(source.weight);
    const size_t n = static_cast<size_t>(source.out_features) * static_cast<size_t>(source.in_features);
    std::atomic<bool> fits{true};
    pool.parallel_for(static_cast<int32_t>((n + kPiece - 1) / kPiece), [&](int32_t piece) {
        const size_t begin = static_cast<size_t>(piece) * kPiece;
        if (fits && !fits_six_bits(codes + begin, std::min(kPiece, n - begin))) fits = false;
    });
    return fits;
}

// The first `count` of `stride` values of each row -> [count][16].
template <typename T>
void pack_values(const uint8_t* values, int32_t stride, int32_t rows, int32_t count, uint8_t* target) {
    for (int32_t g = 0; g < count; ++g) {
        for (int32_t r = 0; r < rows; ++r) {
            const size_t from = static_cast<size_t>(r) * stride + g, to = static_cast<size_t>(g) * kTileRows + r;
            std::memcpy(target + to * sizeof(T), values + from * sizeof(T), sizeof(T));
        }
    }
}

void pack_groups(size_t element, const uint8_t* values, int32_t stride, int32_t rows, int32_t count, uint8_t* target) {
    switch (element) {
        case 1: return pack_values<uint8_t>(values, stride, rows, count, target);
        case 2: return pack_values<uint16_t>(values, stride, rows, count, target);
        default: return pack_values<uint32_t>(values, stride, rows, count, target);
    }
}

}  // namespace

// Sixteen rows on their way into a tile.
struct TileSource {
    const di_linear_source& source;
    int32_t first, rows;

    // `count` values of each row from `begin` on, where a row has `stride` of them; beyond those, nothing.
    void pack(const void* values, size_t element, int32_t stride, int32_t begin, int32_t count, uint8_t* target) const {
        const uint8_t* from = static_cast<const uint8_t*>(values) + (static_cast<size_t>(first) * stride + begin) * element;
        pack_groups(element, from, stride, rows, std::min(count, stride - begin), target);
    }
};

namespace {

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

PackedLinear::PackedLinear(const di_linear_source& source, const Core& core, ThreadPool& pool, PageArena& arena) {
    check(source);
    plan(source, pool);
    data_ = arena.cut(tiles_.tile_bytes * static_cast<size_t>(tiles_.num_tiles));
    tiles_.data = data_.get();
    const int32_t tiles_a_task = tiles_.num_tiles / 256 + 1;
    pool.parallel_for((tiles_.num_tiles + tiles_a_task - 1) / tiles_a_task, [&](int32_t task) {
        const int32_t end = std::min(tiles_.num_tiles, (task + 1) * tiles_a_task);
        for (int32_t tile = task * tiles_a_task; tile < end; ++tile) pack_tile(core, source, tile);
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

void PackedLinear::plan(const di_linear_source& source, ThreadPool& pool) {
    Tiles& w = tiles_;
    w.out_features = source.out_features;
    w.in_features = source.in_features;
    w.padded_in = round_up(source.in_features, kColumnStep);
    w.num_tiles = round_up(source.out_features, kTileRows) / kTileRows;
    w.codes = static_cast<Codes>(source.codes);
    w.scheme = static_cast<Scheme>(source.scheme);
    const bool may_shrink = source.six_bits && w.codes == Codes::kInt8 && w.scheme == Scheme::kSym;
    if (may_shrink && fits_six_bits(source, pool)) w.codes = Codes::kInt6;
    const size_t step_bytes = code_bytes_per_step(w.codes), num_steps = static_cast<size_t>(w.padded_in / kColumnStep);
    w.block_bytes = kBlockColumns / kColumnStep * step_bytes;
    w.tile_bytes = num_steps * step_bytes;
    if (is_dense(w.codes)) return;
    w.scale_type = static_cast<ScaleType>(source.scale_type);
    w.bias_type = static_cast<ScaleType>(source.bias_type);
    w.has_one_group = source.group_size == -1;
    w.group_columns = w.has_one_group ? kBlockColumns : source.group_size;
    const int32_t rest = w.padded_in % kBlockColumns;
    w.whole = layout(kBlockColumns);
    w.last = w.has_one_group ? w.whole : layout(rest);
    const size_t whole = static_cast<size_t>(w.whole.codes), last = rest > 0 ? static_cast<size_t>(w.last.codes) : 0;
    if (w.has_one_group) {
        w.tile_bytes += whole;
    } else {
        w.block_bytes += whole;
        w.tile_bytes += static_cast<size_t>(w.padded_in / kBlockColumns) * whole + last;
    }
}

// Of a block with so many columns.
BlockLayout PackedLinear::layout(int32_t columns) const {
    const Tiles& w = tiles_;
    const int32_t groups = (columns + w.group_columns - 1) / w.group_columns;
    int32_t end = 0;
    const auto reserve = [&](bool exists, int32_t count, int32_t element) {
        const int32_t at = end;
        if (exists) end += count * element * kTileRows;
        return at;
    };
    const bool is_affine = w.scheme == Scheme::kAffine;
    BlockLayout layout;
    layout.scales = reserve(true, groups, scale_bytes(w.scale_type));
    layout.super_scales = reserve(is_two_level(w.scale_type), 1, 2);
    layout.zeros = reserve(w.scheme == Scheme::kZero, groups, 1);
    layout.biases = reserve(is_affine, groups, scale_bytes(w.bias_type));
    layout.super_biases = reserve(is_affine && is_two_level(w.bias_type), 1, 2);
    layout.codes = round_up(end, 64);
    return layout;
}

void PackedLinear::pack_tile(const Core& core, const di_linear_source& source, int32_t tile_index) {
    const Tiles& w = tiles_;
    uint8_t* tile = data_.get() + static_cast<size_t>(tile_index) * w.tile_bytes;
    const int32_t first = tile_index * kTileRows, rows = std::min(kTileRows, w.out_features - first);
    const TileSource from{source, first, rows};
    if (is_dense(w.codes)) return from.pack(source.weight, w.codes == Codes::kF32 ? 4 : 2, w.in_features, 0, w.in_features, tile);
    const size_t row_bytes = source_row_bytes(w);
    const uint8_t* codes = static_cast<const uint8_t*>(source.weight) + static_cast<size_t>(first) * row_bytes;
    for (int32_t begin = 0; begin < w.in_features; begin += kBlockColumns) {
        const Block block = block_at(w, begin);
        core.pack_rows(w.codes, {codes, row_bytes, rows, w.scheme == Scheme::kSym}, begin, block.columns, tile + block.codes);
        if (begin == 0 || !w.has_one_group) pack_scales(from, begin, block, tile + block.values);
    }
}

void PackedLinear::pack_scales(const TileSource& from, int32_t begin, const Block& block, uint8_t* values) const {
    const Tiles& w = tiles_;
    const BlockLayout& at = *block.layout;
    const di_linear_source& source = from.source;
    const int32_t columns = w.has_one_group ? w.in_features : w.group_columns;
    const int32_t num_groups = (w.in_features + columns - 1) / columns;
    const int32_t num_supers = (w.in_features + kBlockColumns - 1) / kBlockColumns;
    const auto groups = [&](const void* from_values, int32_t element, int32_t offset) {
        from.pack(from_values, static_cast<size_t>(element), num_groups, begin / columns, block.num_groups, values + offset);
    };
    const auto supers = [&](ScaleType type, const void* from_values, int32_t offset) {
        if (is_two_level(type)) from.pack(from_values, 2, num_supers, begin / kBlockColumns, 1, values + offset);
    };
    groups(source.scales, scale_bytes(w.scale_type), at.scales);
    supers(w.scale_type, source.super_scales, at.super_scales);
    if (w.scheme == Scheme::kZero) groups(source.zeros, 1, at.zeros);
    if (w.scheme != Scheme::kAffine) return;
    groups(source.biases, scale_bytes(w.bias_type), at.biases);
    supers(w.bias_type, source.super_biases, at.super_biases);
}

size_t PackedLinear::num_bytes() const {
    const size_t bias = bias_ ? static_cast<size_t>(tiles_.num_tiles) * kTileRows * sizeof(float) : 0;
    return tiles_.tile_bytes * static_cast<size_t>(tiles_.num_tiles) + bias + perm_.size() * sizeof(int32_t);
}

}  // namespace di

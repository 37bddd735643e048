// How a weight matrix lies in memory for the kernels: tiles of sixteen rows, one SIMD lane a row.
//
// A tile is a row of blocks of 256 columns, and a block what scales its codes, then the codes: a product reads each tile
// from end to end. Columns are padded to a multiple of 32 and rows to a multiple of 16, both with zeros. Codes are
// unsigned (`sym` is shifted by 2^(bits-1)) and lie in quads, four consecutive columns of one row in the four bytes of a
// 32-bit lane, so that integer dot products need no shuffle:
//   int8   64 bytes per 4 columns:   byte j of lane r = column j
//   int4   64 bytes per 8 columns:   byte j of lane r = column j (low nibble), column 4 + j (high nibble)
//   int6  384 bytes per 32 columns:  of codes + 32 the low nibbles as of int4, then two words of the high bits: byte j of
//          words 4 and 5 holds those of columns 4k + j (k = 0..3, from bit 2k) of their sixteen columns
//   int3  192 bytes per 32 columns:  three 64-byte words; byte j of words 0 and 1 holds the low two bits of columns
//          4k + j (k = 0..3, from bit 2k) of their sixteen columns; byte j of word 2 the high bits of 4k + j at bit k
// int6 is no width of a checkpoint: 8-bit codes of `sym` lie so if asked for and all in -32..31, as those of Q6_K, Q5_0 and
// MXFP4 are. Quads of it are read as those of the same codes in int8, so that no product differs by a bit.
//   dense  16 elements per column
// Scales, super scales, zeros, biases and super biases lie as [group][16], in that order, where there are any; those of a
// group as wide as the matrix stand once, before the first block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace di {

constexpr int kTileRows = 16;
constexpr int kColumnStep = 32;
constexpr int kBlockColumns = 256;  // of which a two-level scale has one super scale

enum class Codes : int32_t { kF32 = 0, kF16 = 1, kBf16 = 2, kInt3 = 3, kInt4 = 4, kInt6 = 6, kInt8 = 8 };
enum class Scheme : int32_t { kSym = 0, kZero = 1, kAffine = 2 };
enum class ScaleType : int32_t { kF16 = 0, kF32 = 1, kTwoLevelU8 = 2, kTwoLevelI8 = 3 };

// Where things lie in a block, in bytes.
struct BlockLayout {
    int32_t scales = 0, super_scales = 0, zeros = 0, biases = 0, super_biases = 0, codes = 0;
};

// A matrix in tiles; plain data, owned by PackedLinear.
struct Tiles {
    int32_t out_features = 0, in_features = 0;
    int32_t padded_in = 0, num_tiles = 0;
    Codes codes = Codes::kF32;
    Scheme scheme = Scheme::kSym;
    ScaleType scale_type = ScaleType::kF16, bias_type = ScaleType::kF16;
    int32_t group_columns = kBlockColumns;  // so, too, when a row is one group
    bool has_one_group = false;
    BlockLayout whole, last;         // of 256 columns, and of what the last block has
    size_t block_bytes = 0, tile_bytes = 0;
    const uint8_t* data = nullptr;
    const float* bias = nullptr;     // [num_tiles * 16] or null
    const int32_t* perm = nullptr;   // [in_features] or null: stored column c reads input perm[c]
};

// A block's place in a tile.
struct Block {
    const BlockLayout* layout;
    size_t values, codes;  // bytes from the tile's start: the layout is relative to `values`
    int32_t columns, num_groups;
};

// Static: each object that is built with other flags keeps its own (see core.cpp).
static inline int32_t round_up(int32_t n, int32_t step) { return (n + step - 1) / step * step; }

static inline size_t code_bytes_per_step(Codes codes) {  // of 32 columns x 16 rows
    switch (codes) {
        case Codes::kF32: return 2048;
        case Codes::kF16:
        case Codes::kBf16: return 1024;
        case Codes::kInt3: return 192;
        case Codes::kInt4: return 256;
        case Codes::kInt6: return 384;
        case Codes::kInt8: return 512;
    }
    return 0;
}

static constexpr int32_t scale_bytes(ScaleType type) { return type == ScaleType::kF16 ? 2 : type == ScaleType::kF32 ? 4 : 1; }

static inline bool is_dense(Codes codes) { return codes == Codes::kF32 || codes == Codes::kF16 || codes == Codes::kBf16; }

// The block that begins at a column, a multiple of 256.
static inline Block block_at(const Tiles& w, int32_t begin) {
    Block block;
    block.columns = w.padded_in - begin < kBlockColumns ? w.padded_in - begin : kBlockColumns;
    block.layout = block.columns < kBlockColumns ? &w.last : &w.whole;
    const size_t at = static_cast<size_t>(begin / kBlockColumns) * w.block_bytes;
    block.values = w.has_one_group ? 0 : at;
    block.codes = at + static_cast<size_t>(block.layout->codes);
    block.num_groups = (block.columns + w.group_columns - 1) / w.group_columns;
    return block;
}

}  // namespace di

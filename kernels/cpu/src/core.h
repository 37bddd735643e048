// The numeric core's functions. `core.cpp` is compiled once per instruction set; each object offers one table.
#pragma once

#include <cstdint>

#include "tiles.h"

namespace di {

// The rows that go into a linear, gathered by its perm if it has one.
//
// With int8 activations a row is also stored as codes times one step per 32 columns, quantized linears read only
// those, and the sums are those of codes * step. Without, `codes` is null.
struct Input {
    const float* x;       // [rows][stride], zero from in_features to padded_in
    const int8_t* codes;  // [rows][stride] or null, in [-127, 127]
    const float* steps;   // [rows][stride / 32]
    const float* sums16;  // [rows][stride / 16]
    const float* sums32;  // [rows][stride / 32]
    int32_t stride;
    int32_t rows;
};

// What `quantize` fills for one row.
struct QuantizedRow {
    int8_t* codes;
    float *steps, *sums16, *sums32;
};

// Up to sixteen rows of quantized codes as a checkpoint stores them, one after the other.
struct PackedRows {
    const uint8_t* data;
    size_t row_bytes;
    int32_t count;
    bool is_signed;  // two's-complement codes
};

// One linear to do: y[row][out] = W x + bias (+ add), for the tiles a task takes.
struct Product {
    const Tiles* w;
    const Input* input;
    float* y;          // [rows][y_stride]; whole tiles are written where they fit into y_stride
    int64_t y_stride;
    const float* add;  // [rows][y_stride] or null; may be y
};

// The rows of a product with a transposed matrix.
struct TransposedRows {
    const float* x;
    int64_t x_stride;
    float* y;
    int64_t y_stride;  // room for the padded columns
    int32_t count;
};

// How the KV cache stores a number. An int8 code is multiplied with the float16 scale of its position and head.
enum class KVType : int32_t { kF32 = 0, kF16 = 1, kI8 = 2 };

constexpr int kPageTokens = 256;
constexpr int kMaxHeadDim = 512;   // of keys, and of values
constexpr int kMaxLatentDim = 640;  // of latent vectors with the columns that rotate

// One kv head at 256 positions. Keys of 16 positions lie side by side ([position / 16][head_dim][16]), values as
// [position][value_stride]; scales, one per position, only in an int8 cache. A latent vector is both: a row
// [value_stride] holds a value, zeros up to whole vectors, and then, with a key scale, what of a key is no value. Queries
// are as wide.
struct KVPage {
    const void *keys, *values;
    const uint16_t *key_scales, *value_scales;
};

// Where the parts of one kv head lie in the bytes of a page, which holds all layers and heads.
struct KVHeadLayout {
    size_t keys, values, key_scales, value_scales;
};

// What a head of each page of a sequence holds; `pages` are those of its positions from 0 on.
struct KVPages {
    const uint8_t* const* pages;
    KVHeadLayout at;
    KVPage operator[](int32_t index) const {
        const uint8_t* page = pages[index];
        return {page + at.keys, page + at.values, reinterpret_cast<const uint16_t*>(page + at.key_scales),
                reinterpret_cast<const uint16_t*>(page + at.value_scales)};
    }
};

// Query heads that share a kv head, in rows (tokens) of one sequence.
struct AttentionTask {
    const float* q;            // of each row [num_heads][head_dim]
    float* out;                // of each row [num_heads][value_dim]
    int64_t stride, out_stride;  // from row to row
    const int32_t* positions;  // [num_rows], ascending
    const float* scales;       // [num_rows], of the scores
    KVPages pages;
    int32_t num_rows, num_heads;
    int32_t head_dim, value_dim, value_stride;
    bool is_latent;            // then head_dim is value_stride
    int32_t sliding_window;  // keys a query sees, itself included; 0: all
    float softcap;           // scores become softcap * tanh(score / softcap); 0: they stay
    const float* sinks;      // [num_heads] or null: a logit that takes part in a head's softmax without a value
    KVType type;
};

// The first page that some row sees.
static inline int32_t first_page(const AttentionTask& task) {
    const int32_t first = task.positions[0] + 1 - task.sliding_window;
    return task.sliding_window > 0 && first > 0 ? first / kPageTokens : 0;
}

// Floats that one query of a page's result takes.
static constexpr int32_t partial_stride(int32_t value_dim) { return (value_dim + 15) / 16 * 16 + 16; }

// One token of one head of a gated delta net: S = decay S; S += key (beta (value - key S)); out = query S.
struct DeltaStep {
    float* state;  // S of key_dim * stride floats in blocks of columns, padded with zeros to whole vectors
    const float *query, *key, *value;
    float* out;    // [value_dim]
    float decay, beta;
    int32_t key_dim, value_dim, stride;
};

enum class HiddenAct : int32_t { kSilu = 0, kGelu = 1, kGeluTanh = 2 };

constexpr int32_t kMaxGroupSize = 128;

// Groups of weights whose scales are wanted: group_size is a multiple of 16, up to kMaxGroupSize.
struct ScaleSearch {
    const float* weights;  // [num_groups][group_size], finite
    int32_t group_size, bits;
    const float* levels;  // [num_levels]: where on the grid the greatest magnitude may fall
    int32_t num_levels;
    const float* source_scales;  // [num_groups] or null: they compete
};

// Groups of weights with their scales; sizes as above.
struct GridRounding {
    const float *weights, *scales;
    int32_t group_size, bits;
};

// Blocks of one of ggml's types, and the bytes of each one's packed codes.
struct Blocks {
    const char* type;
    const uint8_t* data;
    int64_t count;
    int32_t block_bytes, packed_bytes;
};

struct Core {
    const char* name;
    void (*linear)(const Product& product, int32_t tile_begin, int32_t tile_end);
    void (*decode_row)(const Tiles& w, int32_t row, float* out);  // one row of W, float32 [padded_in]
    // Columns [begin, begin + columns) of the rows; begin is a multiple of 256, columns of 32.
    void (*pack_rows)(Codes codes, const PackedRows& rows, int32_t begin, int32_t columns, uint8_t* target);
    // y[r][column] += sum over rows i of W, first <= i < last, of x[r][i - first] W[i][column], columns as they are stored.
    void (*add_transposed)(const Tiles& w, int32_t first, int32_t last, const TransposedRows& rows);
    uint32_t (*read_blocks)(const uint8_t* data, size_t num_blocks);  // the or of all words of 256-byte blocks
    void (*quantize)(const float* x, int32_t padded_in, const QuantizedRow& out);
    void (*column_sums)(const float* x, int32_t padded_in, float* sums16, float* sums32);
    void (*rms_norm)(const float* x, const float* weight, float eps, int32_t n, float* out);
    void (*layer_norm)(const float* x, const float* weight, const float* bias, float eps, int32_t n, float* out);
    void (*activate)(di::HiddenAct act, float* x, const float* up, int32_t n);  // x = act(x) * up; up null: act(x)
    void (*clamped_swiglu)(float* gate, const float* up, float limit, float alpha, int32_t n);
    void (*mul_sigmoid)(float* x, const float* gate, int32_t n);  // x *= sigmoid(gate)
    void (*rotate)(float* head, const float* cos, const float* sin, int32_t half);  // pairs (i, i + half)
    void (*scale)(float* x, float factor, int32_t n);
    void (*add_scaled)(float* y, const float* x, float factor, int32_t n);  // y += x * factor
    void (*softcap)(float* x, float cap, int32_t n);                        // x = cap * tanh(x / cap)
    // Attention, page by page: partials [num_rows * num_heads][partial_stride] of one page; a later page's merged into
    // those of the earlier ones; and `out` from those of all pages.
    void (*attend_page)(const AttentionTask& task, int32_t page, float* partials);
    void (*merge_page)(const AttentionTask& task, float* next, float* into);
    void (*finish_attention)(const AttentionTask& task, float* partials);
    // Gated delta net: n channels of a convolution with `taps` inputs each, the older ones in `window`; then a length.
    void (*convolve)(float* x, float* window, const float* kernel, int32_t taps, int32_t stride, int32_t n);
    void (*normalize_length)(float* x, float eps, float factor, int32_t n);
    void (*delta_step)(const DeltaStep& step);
    // Conversion of checkpoints.
    void (*search_scales)(const ScaleSearch& search, int64_t num_groups, float* scales);
    void (*round_to_grid)(const GridRounding& grid, int64_t num_groups, int8_t* codes, float* decoded);
    bool (*unpack_blocks)(const Blocks& blocks, uint8_t* packed);
};

const Core& core_portable();
const Core& core_avx2();
const Core& core_avxvnni();
const Core& core_avx512();

}  // namespace di

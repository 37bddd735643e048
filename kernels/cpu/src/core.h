// The numeric core's functions. `core.cpp` is compiled once per instruction set; each object offers one table.
#pragma once

#include <cstdint>

#include "tiles.h"

namespace di {

// The rows that go into a linear, gathered by its perm if it has one.
struct Input {
    const float* x;       // [rows][stride], zero from in_features to padded_in
    const float* sums16;  // per 16 columns of row 0 and
    const float* sums32;  // per 32 columns of row 0: read only when rows == 1
    int32_t stride;
    int32_t rows;
};

// One linear to do: y[row][out] = W x + bias (+ add), for the tiles a task takes.
struct Product {
    const Tiles* w;
    const Input* input;
    float* y;          // [rows][y_stride]; whole tiles are written where they fit into y_stride
    int64_t y_stride;
    const float* add;  // [rows][y_stride] or null; may be y
};

// Keys of 16 positions lie side by side ([position / 16][head_dim][16]), values as [position][value_stride].
struct KVPage {
    const void* keys;
    const void* values;
};

struct AttentionHead {
    const float* q;           // [head_dim]
    float* out;               // [head_dim]
    const KVPage* pages;      // of this kv head, one per 256 positions
    int32_t first, last;      // positions seen: first <= p < last
    int32_t head_dim, value_stride;
    float scale;
    bool half;                // fp16 cache, otherwise fp32
};

constexpr int kPageTokens = 256;
constexpr int kMaxHeadDim = 512;

struct Core {
    const char* name;
    void (*linear)(const Product& product, int32_t tile_begin, int32_t tile_end);
    void (*decode_row)(const Tiles& w, int32_t row, float* out);  // one row of W, float32 [padded_in]
    void (*column_sums)(const float* x, int32_t padded_in, float* sums16, float* sums32);
    void (*rms_norm)(const float* x, const float* weight, float eps, int32_t n, float* out);
    void (*silu_mul)(float* gate, const float* up, int32_t n);
    void (*attention)(const AttentionHead& head);
};

const Core& core_portable();
const Core& core_avx2();
const Core& core_avx512();

}  // namespace di

// The KV cache: pages of 256 positions, found by a table per slot. Of a layer, keys and values stand as
// [pages][num_kv_heads][256][HEAD_DIM], as halfs or (INT8_KV) as bytes with one half scale per position and head,
// [pages][num_kv_heads][256].
#pragma once

#include "common.cuh"

constexpr int kPagePositions = 256;

struct KvCache {
    void* keys;
    void* values;
    half* key_scales;  // null without INT8_KV
    half* value_scales;
    const int* pages;  // [slots][max_pages]
    int max_pages, num_kv_heads;
};

// The row of a position: times HEAD_DIM for keys and values, as it stands for scales.
__device__ __forceinline__ size_t cache_row(const KvCache& cache, int slot, int head, int position) {
    const size_t page = cache.pages[slot * cache.max_pages + position / kPagePositions];
    return (page * cache.num_kv_heads + head) * kPagePositions + position % kPagePositions;
}

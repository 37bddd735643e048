// One query head of one token over its past, page by page, with an online softmax.
#pragma once

#include "core.h"
#include "core_math.h"

namespace {

using di::AttentionHead;
using di::kMaxHeadDim;
using di::kPageTokens;

template <bool HALF>
inline F32x16 load_cached(const void* base, int64_t index) {
    if constexpr (HALF) return load_f16(static_cast<const uint16_t*>(base) + index);
    return load(static_cast<const float*>(base) + index);
}

// Scores of sixteen positions, one a lane.
template <bool HALF>
inline F32x16 score_block(const AttentionHead& h, const void* keys, int block) {
    F32x16 even = zero_f32(), odd = zero_f32();
    const int64_t at = static_cast<int64_t>(block) * h.head_dim * 16;
    for (int d = 0; d < h.head_dim; d += 2) {
        even = fma(load_cached<HALF>(keys, at + d * 16), broadcast(h.q[d]), even);
        odd = fma(load_cached<HALF>(keys, at + d * 16 + 16), broadcast(h.q[d + 1]), odd);
    }
    return (even + odd) * broadcast(h.scale);
}

// Scores of positions [first, last) of a page, -1e30 elsewhere in the blocks touched; returns the largest.
template <bool HALF>
float page_scores(const AttentionHead& h, const void* keys, int first, int last, float* scores) {
    F32x16 best = broadcast(-1e30f);
    for (int block = first / 16; block * 16 < last; ++block) {
        float* lanes = scores + block * 16;
        store(lanes, score_block<HALF>(h, keys, block));
        for (int i = block * 16; i < first; ++i) scores[i] = -1e30f;
        for (int i = last; i < block * 16 + 16; ++i) scores[i] = -1e30f;
        best = max(best, load(lanes));
    }
    return reduce_max(best);
}

// scores -> e^(score - best); returns their sum. Lanes outside the window underflow to 0... of the smallest normal,
// so they are cut off by the caller's loop bounds and by the explicit zero here.
inline float page_weights(float* scores, int first, int last, float best) {
    F32x16 sum = zero_f32();
    for (int block = first / 16; block * 16 < last; ++block) {
        float* lanes = scores + block * 16;
        store(lanes, exp(load(lanes) - broadcast(best)));
        for (int i = block * 16; i < first; ++i) scores[i] = 0.0f;
        for (int i = last; i < block * 16 + 16; ++i) scores[i] = 0.0f;
        sum = sum + load(lanes);
    }
    return reduce_add(sum);
}

// sums[value_stride] += sum over positions of weight * value
template <bool HALF>
void add_values(const AttentionHead& h, const void* values, int first, int last, const float* weights, float* sums) {
    for (int d = 0; d < h.value_stride; d += 16) {
        F32x16 even = load(sums + d), odd = zero_f32();
        int p = first;
        for (; p + 1 < last; p += 2) {
            even = fma(load_cached<HALF>(values, static_cast<int64_t>(p) * h.value_stride + d), broadcast(weights[p]), even);
            odd = fma(load_cached<HALF>(values, static_cast<int64_t>(p + 1) * h.value_stride + d), broadcast(weights[p + 1]), odd);
        }
        if (p < last) even = fma(load_cached<HALF>(values, static_cast<int64_t>(p) * h.value_stride + d), broadcast(weights[p]), even);
        store(sums + d, even + odd);
    }
}

inline void scale_values(float* sums, int n, float factor) {
    for (int d = 0; d < n; d += 16) store(sums + d, load(sums + d) * broadcast(factor));
}

template <bool HALF>
void attend(const AttentionHead& h) {
    alignas(64) float scores[kPageTokens], sums[kMaxHeadDim];
    memset(sums, 0, sizeof(float) * static_cast<size_t>(h.value_stride));
    float best = -1e30f, total = 0.0f;
    for (int page = h.first / kPageTokens; page * kPageTokens < h.last; ++page) {
        const int base = page * kPageTokens;
        const int first = h.first > base ? h.first - base : 0;
        const int last = h.last - base < kPageTokens ? h.last - base : kPageTokens;
        const float page_best = page_scores<HALF>(h, h.pages[page].keys, first, last, scores);
        if (page_best > best) {
            const float shrink = total > 0.0f ? expf(best - page_best) : 0.0f;
            scale_values(sums, h.value_stride, shrink);
            total *= shrink;
            best = page_best;
        }
        total += page_weights(scores, first, last, best);
        add_values<HALF>(h, h.pages[page].values, first, last, scores, sums);
    }
    scale_values(sums, h.value_stride, 1.0f / total);
    for (int d = 0; d < h.head_dim; ++d) h.out[d] = sums[d];
}

void attention(const AttentionHead& h) { h.half ? attend<true>(h) : attend<false>(h); }

}  // namespace

// Query heads that share keys over one page of the past, and the merging of pages by an online softmax.
//
// Pages are always computed apart and merged in order, so the result does not depend on which thread took which page.
#pragma once

#include "core.h"
#include "core_math.h"

namespace {

using di::AttentionTask;
using di::kMaxGroupHeads;
using di::kPageTokens;

// What a page leaves of one head, unnormalized: sums [value_stride], then the largest score and the sum of weights.
inline float* partial_at(const AttentionTask& t, float* partials, int head) {
    return partials + head * di::partial_stride(t.value_stride);
}
inline float& best_of(const AttentionTask& t, float* partial) { return partial[t.value_stride]; }
inline float& total_of(const AttentionTask& t, float* partial) { return partial[t.value_stride + 1]; }

constexpr float kMasked = -1e30f;  // finite, so that a difference of two is no NaN

// The part [first, last) of a page that a query sees.
struct Span {
    int first, last;
};

inline Span span_of(const AttentionTask& t, int page) {
    const int base = page * kPageTokens, first = t.first - base, last = t.last - base;
    return {first > 0 ? first : 0, last < kPageTokens ? last : kPageTokens};
}

template <bool HALF>
inline F32x16 load_cached(const void* base, int64_t index) {
    if constexpr (HALF) return load_f16(static_cast<const uint16_t*>(base) + index);
    return load(static_cast<const float*>(base) + index);
}

inline F32x16 finished_score(const AttentionTask& t, F32x16 dot) {
    const F32x16 score = dot * broadcast(t.scale);
    return t.softcap > 0.0f ? broadcast(t.softcap) * tanh(score / broadcast(t.softcap)) : score;
}

// Scores of 16 * BLOCKS positions, one a lane, for HEADS heads.
template <bool HALF, int HEADS, int BLOCKS>
void score_blocks(const AttentionTask& t, const void* keys, int block, float (*scores)[kPageTokens]) {
    F32x16 sums[HEADS][BLOCKS];
    for (int h = 0; h < HEADS; ++h) {
        for (int b = 0; b < BLOCKS; ++b) sums[h][b] = zero_f32();
    }
    const int64_t at = static_cast<int64_t>(block) * t.head_dim * 16;
    for (int d = 0; d < t.head_dim; ++d) {
        F32x16 key[BLOCKS];
        for (int b = 0; b < BLOCKS; ++b) key[b] = load_cached<HALF>(keys, at + (static_cast<int64_t>(b) * t.head_dim + d) * 16);
        for (int h = 0; h < HEADS; ++h) {
            const F32x16 q = broadcast(t.q[h * t.head_dim + d]);
            for (int b = 0; b < BLOCKS; ++b) sums[h][b] = fma(key[b], q, sums[h][b]);
        }
    }
    for (int h = 0; h < HEADS; ++h) {
        for (int b = 0; b < BLOCKS; ++b) store(scores[h] + (block + b) * 16, finished_score(t, sums[h][b]));
    }
}

// Scores in the blocks that `span` touches, `kMasked` outside of it. Whole pages are allocated, so the last blocks may
// reach beyond `last`: into keys of an overwritten future, or zeros.
template <bool HALF, int HEADS>
void score_span(const AttentionTask& t, const void* keys, Span span, float (*scores)[kPageTokens]) {
    constexpr int kBlocks = HEADS > 2 ? kScoreBlocks : 2;
    const int first_block = span.first / (16 * kBlocks) * kBlocks;
    int block = first_block;
    for (; block * 16 < span.last; block += kBlocks) score_blocks<HALF, HEADS, kBlocks>(t, keys, block, scores);
    for (int h = 0; h < HEADS; ++h) {
        for (int i = first_block * 16; i < span.first; ++i) scores[h][i] = kMasked;
        for (int i = span.last; i < block * 16; ++i) scores[h][i] = kMasked;
    }
}

// scores -> e^(score - best), 0 outside of the span; best and total go into the partial.
inline void soften(const AttentionTask& t, float* scores, Span span, float* partial) {
    const int begin = span.first / 16 * 16;
    F32x16 best = broadcast(kMasked), sum = zero_f32();
    for (int i = begin; i < span.last; i += 16) best = max(best, load(scores + i));
    best_of(t, partial) = reduce_max(best);
    best = broadcast(best_of(t, partial));
    for (int i = begin; i < span.last; i += 16) store(scores + i, exp(load(scores + i) - best));
    for (int i = begin; i < span.first; ++i) scores[i] = 0.0f;
    for (int i = span.last; i % 16; ++i) scores[i] = 0.0f;
    for (int i = begin; i < span.last; i += 16) sum = sum + load(scores + i);
    total_of(t, partial) = reduce_add(sum);
}

// Columns d .. d + 16 * CHUNKS of each head's sums = sum over the span of weight * value.
template <bool HALF, int HEADS, int CHUNKS>
void mix_columns(const AttentionTask& t, const void* values, Span span, int d, float (*weights)[kPageTokens],
                 float* partials) {
    F32x16 sums[HEADS][CHUNKS];
    for (int h = 0; h < HEADS; ++h) {
        for (int c = 0; c < CHUNKS; ++c) sums[h][c] = zero_f32();
    }
    for (int p = span.first; p < span.last; ++p) {
        F32x16 value[CHUNKS];
        for (int c = 0; c < CHUNKS; ++c) value[c] = load_cached<HALF>(values, static_cast<int64_t>(p) * t.value_stride + d + 16 * c);
        for (int h = 0; h < HEADS; ++h) {
            const F32x16 weight = broadcast(weights[h][p]);
            for (int c = 0; c < CHUNKS; ++c) sums[h][c] = fma(value[c], weight, sums[h][c]);
        }
    }
    for (int h = 0; h < HEADS; ++h) {
        for (int c = 0; c < CHUNKS; ++c) store(partial_at(t, partials, h) + d + 16 * c, sums[h][c]);
    }
}

template <bool HALF, int HEADS>
void attend_page_of(const AttentionTask& t, int page, float* partials) {
    alignas(64) float scores[HEADS][kPageTokens];
    const Span span = span_of(t, page);
    score_span<HALF, HEADS>(t, t.pages[page].keys, span, scores);
    for (int h = 0; h < HEADS; ++h) soften(t, scores[h], span, partial_at(t, partials, h));
    int d = 0;
    for (; d + 32 <= t.value_stride; d += 32) mix_columns<HALF, HEADS, 2>(t, t.pages[page].values, span, d, scores, partials);
    if (d < t.value_stride) mix_columns<HALF, HEADS, 1>(t, t.pages[page].values, span, d, scores, partials);
}

template <int HEADS>
void attend_page_for(const AttentionTask& t, int page, float* partials) {
    if (t.num_heads != HEADS) return attend_page_for<HEADS - 1>(t, page, partials);
    t.half ? attend_page_of<true, HEADS>(t, page, partials) : attend_page_of<false, HEADS>(t, page, partials);
}
template <>
void attend_page_for<0>(const AttentionTask&, int, float*) {}

void attend_page(const AttentionTask& t, int32_t page, float* partials) {
    attend_page_for<kMaxGroupHeads>(t, page, partials);
}

// Takes the partials of a later page into those of the earlier ones.
void merge_page(const AttentionTask& t, float* next, float* into) {
    for (int h = 0; h < t.num_heads; ++h, next += di::partial_stride(t.value_stride), into += di::partial_stride(t.value_stride)) {
        const float best = best_of(t, next) > best_of(t, into) ? best_of(t, next) : best_of(t, into);
        const float old_share = expf(best_of(t, into) - best), new_share = expf(best_of(t, next) - best);
        for (int d = 0; d < t.value_stride; d += 16) {
            const F32x16 old_sums = load(into + d) * broadcast(old_share);
            store(into + d, fma(load(next + d), broadcast(new_share), old_sums));
        }
        best_of(t, into) = best;
        total_of(t, into) = total_of(t, into) * old_share + total_of(t, next) * new_share;
    }
}

// What a head's sums are multiplied with: 1 / total, with the sink's share in the total.
inline float output_share(const AttentionTask& t, float* partial, int head) {
    if (!t.sinks) return 1.0f / total_of(t, partial);
    const float best = best_of(t, partial) > t.sinks[head] ? best_of(t, partial) : t.sinks[head];
    const float share = expf(best_of(t, partial) - best);
    return share / (total_of(t, partial) * share + expf(t.sinks[head] - best));
}

// out [num_heads][head_dim] = sums / total
void finish_attention(const AttentionTask& t, float* partials, float* out) {
    for (int h = 0; h < t.num_heads; ++h) {
        float* partial = partial_at(t, partials, h);
        const F32x16 share = broadcast(output_share(t, partial, h));
        for (int d = 0; d < t.head_dim; d += 16) store_n(out + h * t.head_dim + d, load(partial + d) * share, t.head_dim - d);
    }
}

}  // namespace

// Queries that share a kv head over one page of the past, and the merging of pages by an online softmax.
//
// Pages are always computed apart and merged in order, and a query's sums do not depend on the queries beside it, so the
// result depends neither on which thread took which page nor on how a prompt was cut into pieces.
#pragma once

#include "core.h"
#include "core_math.h"
#include "rounded_math.h"

namespace {

using di::AttentionTask;
using di::KVPage;
using di::KVType;
using di::kMaxHeadDim;
using di::kPageTokens;

// What a page leaves of one query, unnormalized: its sums, in whole vectors, then the largest score and the sum of weights.
inline int sums_width(const AttentionTask& t) { return di::partial_stride(t.value_dim) - 16; }
inline float* partial_at(const AttentionTask& t, float* partials, int query) {
    return partials + query * di::partial_stride(t.value_dim);
}
inline float& best_of(const AttentionTask& t, float* partial) { return partial[sums_width(t)]; }
inline float& total_of(const AttentionTask& t, float* partial) { return partial[sums_width(t) + 1]; }

constexpr float kMasked = -1e30f;  // finite, so that a difference of two is no NaN
// Less than half a unit in the last place of any weight that counts. Subtracted, it makes the smallest weights zeros, of
// which products with small values and scales are no subnormal numbers: those take a processor a hundred times as long.
constexpr float kNegligible = 1e-30f;

// Positions of a page that are seen: first <= p < last.
struct Span {
    int first, last;
    bool empty() const { return first >= last; }
};

inline Span span_of(const AttentionTask& t, int page, int row) {
    const int base = page * kPageTokens, last = t.positions[row] + 1 - base;
    const int first = t.sliding_window > 0 ? last - t.sliding_window : -base;
    return {first > 0 ? first : 0, last < kPageTokens ? last : kPageTokens};
}

template <KVType T>
inline F32x16 load_cached(const void* base, int64_t index) {
    if constexpr (T == KVType::kI8) return load_i8(static_cast<const int8_t*>(base) + index);
    if constexpr (T == KVType::kF16) return load_f16(static_cast<const uint16_t*>(base) + index);
    return load(static_cast<const float*>(base) + index);
}

// Factors of one query per step lie `kRowFloats` apart: a known distance needs no pointer of its own, and one that is no
// power of two spreads the queries over the sets of the cache.
constexpr int kQueryFloats = di::kMaxLatentDim + 16, kScoreFloats = kPageTokens + 16;

// Vectors of 16 positions (or columns) that `queries` sums each leave room for in the registers.
constexpr int blocks_for(int queries) {
    int blocks = 4;
    while (blocks > 1 && (queries + 1) * blocks > kVectors) blocks /= 2;
    return blocks;
}

// sums[q][b] += cached[at + k * step + b * block_step] * x[q][k] over k < count.
template <KVType T, int ROW_FLOATS, int QUERIES, int BLOCKS>
inline void accumulate(const void* cached, int64_t at, int64_t step, int64_t block_step, const float* x, int count,
                       F32x16 (&sums)[QUERIES][BLOCKS]) {
    for (int k = 0; k < count; ++k, at += step) {
        F32x16 values[BLOCKS];
        for (int b = 0; b < BLOCKS; ++b) values[b] = load_cached<T>(cached, at + b * block_step);
        for (int q = 0; q < QUERIES; ++q) {
            const F32x16 factor = broadcast(x[q * ROW_FLOATS + k]);
            for (int b = 0; b < BLOCKS; ++b) sums[q][b] = fma(values[b], factor, sums[q][b]);
        }
    }
}

template <int QUERIES, int BLOCKS>
inline void clear(F32x16 (&sums)[QUERIES][BLOCKS]) {
    for (int q = 0; q < QUERIES; ++q) {
        for (int b = 0; b < BLOCKS; ++b) sums[q][b] = zero_f32();
    }
}

template <KVType T>
inline F32x16 finished_score(const AttentionTask& t, const KVPage& page, int position, float scale, F32x16 dot) {
    F32x16 score = dot * broadcast(scale);
    if constexpr (T == KVType::kI8) {
        if (!t.is_latent) score = score * load_f16(page.key_scales + position);
    }
    return t.softcap > 0.0f ? broadcast(t.softcap) * tanh(score / broadcast(t.softcap)) : score;
}

// Query i of a task is head i % num_heads of row i / num_heads.
inline int row_of(const AttentionTask& t, int query) { return query / t.num_heads; }

// Scores of whole blocks around `span` for the queries from `first` on, which `q` holds. Whole pages are allocated, so what lies beyond is keys of an overwritten future,
// or zeros.
template <KVType T, int QUERIES>
void score_span(const AttentionTask& t, const KVPage& page, Span span, int first, const float* q, float (*scores)[kScoreFloats]) {
    constexpr int kBlocks = blocks_for(QUERIES), kPositions = 16 * kBlocks;
    const int64_t block_step = static_cast<int64_t>(t.head_dim) * 16;
    for (int p = span.first / kPositions * kPositions; p < span.last; p += kPositions) {
        F32x16 sums[QUERIES][kBlocks];
        clear(sums);
        accumulate<T, kQueryFloats>(page.keys, p / 16 * block_step, 16, block_step, q, t.head_dim, sums);
        for (int i = 0; i < QUERIES; ++i) {
            const float scale = t.scales[row_of(t, first + i)];
            for (int b = 0; b < kBlocks; ++b) {
                store(scores[i] + p + 16 * b, finished_score<T>(t, page, p + 16 * b, scale, sums[i][b]));
            }
        }
    }
}

// sums[i] += columns [begin, end) of a row of the cache times those of query i; the row's numbers are multiplied with `scale`.
template <KVType T, int QUERIES>
inline void add_columns(const void* row, int begin, int end, float scale, const float* q, F32x16* sums) {
    for (int d = begin; d < end; d += 16) {
        F32x16 values = load_cached<T>(row, d);
        if constexpr (T == KVType::kI8) values = values * broadcast(scale);
        for (int i = 0; i < QUERIES; ++i) sums[i] = fma(values, load(q + i * kQueryFloats + d), sums[i]);
    }
}

template <KVType T>
inline const void* latent_row(const AttentionTask& t, const KVPage& page, int position) {
    constexpr int kBytes = T == KVType::kI8 ? 1 : T == KVType::kF16 ? 2 : 4;
    return static_cast<const uint8_t*>(page.values) + static_cast<int64_t>(position) * t.value_stride * kBytes;
}

// As score_span, for latent vectors, whose columns follow each other.
template <KVType T, int QUERIES>
void score_latents(const AttentionTask& t, const KVPage& page, Span span, int first, const float* q, float (*scores)[kScoreFloats]) {
    alignas(64) float still[16] = {}, turning[16] = {};  // scales of sixteen positions
    for (int block = span.first / 16 * 16; block < span.last; block += 16) {
        if constexpr (T == KVType::kI8) {
            store(still, load_f16(page.value_scales + block));
            store(turning, load_f16(page.key_scales + block));
        }
        for (int p = 0; p < 16; ++p) {
            F32x16 sums[QUERIES];
            for (int i = 0; i < QUERIES; ++i) sums[i] = zero_f32();
            const void* row = latent_row<T>(t, page, block + p);
            add_columns<T, QUERIES>(row, 0, sums_width(t), still[p], q, sums);
            add_columns<T, QUERIES>(row, sums_width(t), t.head_dim, turning[p], q, sums);
            for (int i = 0; i < QUERIES; ++i) scores[i][block + p] = reduce_add(sums[i]);
        }
        for (int i = 0; i < QUERIES; ++i) {
            const float scale = t.scales[row_of(t, first + i)];
            store(scores[i] + block, finished_score<T>(t, page, block, scale, load(scores[i] + block)));
        }
    }
}

inline void fill(float* values, int first, int last, float value) {
    for (int i = first; i < last; ++i) values[i] = value;
}

// scores -> e^(score - best) where the query looks, 0 elsewhere in the tile's span; best and total go into the partial.
// With an int8 cache the weights take in the values' scales.
template <KVType T>
void soften(const AttentionTask& t, const KVPage& page, float* scores, Span own, Span tile, float* partial) {
    best_of(t, partial) = kMasked;
    total_of(t, partial) = 0.0f;
    if (own.empty()) return fill(scores, tile.first, tile.last, 0.0f);
    const int begin = own.first / 16 * 16, end = (own.last + 15) / 16 * 16;
    fill(scores, begin, own.first, kMasked);
    fill(scores, own.last, end, kMasked);
    F32x16 best = broadcast(kMasked), sum = zero_f32();
    for (int i = begin; i < end; i += 16) best = max(best, load(scores + i));
    best_of(t, partial) = reduce_max(best);
    best = broadcast(best_of(t, partial));
    for (int i = begin; i < end; i += 16) {
        store(scores + i, max(exp(load(scores + i) - best) - broadcast(kNegligible), zero_f32()));
    }
    fill(scores, tile.first < begin ? tile.first : begin, own.first, 0.0f);
    fill(scores, own.last, tile.last > end ? tile.last : end, 0.0f);
    for (int i = begin; i < end; i += 16) {
        const F32x16 weights = load(scores + i);
        sum = sum + weights;
        if constexpr (T == KVType::kI8) store(scores + i, weights * load_f16(page.value_scales + i));
    }
    total_of(t, partial) = reduce_add(sum);
}

// Columns of each query's sums from `d` on = sum over the span of weight * value.
template <KVType T, int QUERIES, int BLOCKS>
void mix_values(const AttentionTask& t, const KVPage& page, Span span, int d, float (*weights)[kScoreFloats], float* partials) {
    for (; d + 16 * BLOCKS <= sums_width(t); d += 16 * BLOCKS) {
        F32x16 sums[QUERIES][BLOCKS];
        clear(sums);
        const int64_t at = static_cast<int64_t>(span.first) * t.value_stride + d;
        accumulate<T, kScoreFloats>(page.values, at, t.value_stride, 16, weights[0] + span.first, span.last - span.first, sums);
        for (int q = 0; q < QUERIES; ++q) {
            for (int b = 0; b < BLOCKS; ++b) store(partial_at(t, partials, q) + d + 16 * b, sums[q][b]);
        }
    }
    if constexpr (BLOCKS > 1) mix_values<T, QUERIES, BLOCKS / 2>(t, page, span, d, weights, partials);
}

inline const float* query_at(const AttentionTask& t, int query) {
    return t.q + row_of(t, query) * t.stride + query % t.num_heads * t.head_dim;
}

// All positions that some query of [first, first + count) sees.
inline Span tile_span(const AttentionTask& t, int page, int first, int count) {
    return {span_of(t, page, row_of(t, first)).first, span_of(t, page, row_of(t, first + count - 1)).last};
}

template <KVType T, int QUERIES>
void attend_tile(const AttentionTask& t, int page_index, int first, float* partials) {
    alignas(64) float q[QUERIES][kQueryFloats], scores[QUERIES][kScoreFloats];
    const KVPage page = t.pages[page_index];
    const Span span = tile_span(t, page_index, first, QUERIES);
    for (int i = 0; i < QUERIES; ++i) memcpy(q[i], query_at(t, first + i), sizeof(float) * static_cast<size_t>(t.head_dim));
    if (t.is_latent) {
        score_latents<T, QUERIES>(t, page, span, first, q[0], scores);
    } else {
        score_span<T, QUERIES>(t, page, span, first, q[0], scores);
    }
    for (int i = 0; i < QUERIES; ++i) {
        soften<T>(t, page, scores[i], span_of(t, page_index, row_of(t, first + i)), span, partial_at(t, partials, first + i));
    }
    mix_values<T, QUERIES, blocks_for(QUERIES)>(t, page, span, 0, scores, partial_at(t, partials, first));
}

// The widest tile that `count` queries fill, of those that have been compiled: all of them take twice as long to build.
template <KVType T, int QUERIES>
int attend_some(const AttentionTask& t, int page, int first, int count, float* partials) {
    if constexpr (QUERIES > 1) {
        constexpr int kNarrower = QUERIES > 8 ? 8 : QUERIES > 4 ? 4 : QUERIES - 1;
        if (count < QUERIES) return attend_some<T, kNarrower>(t, page, first, count, partials);
    }
    attend_tile<T, QUERIES>(t, page, first, partials);
    return QUERIES;
}

template <KVType T>
void attend_page_of(const AttentionTask& t, int page, float* partials) {
    const int count = t.num_rows * t.num_heads;
    for (int i = 0; i < count;) i += attend_some<T, kGemmRows>(t, page, i, count - i, partials);
}

void attend_page(const AttentionTask& t, int32_t page, float* partials) {
    switch (t.type) {
        case KVType::kF32: return attend_page_of<KVType::kF32>(t, page, partials);
        case KVType::kF16: return attend_page_of<KVType::kF16>(t, page, partials);
        case KVType::kI8: return attend_page_of<KVType::kI8>(t, page, partials);
    }
}

// Takes the partials of a later page into those of the earlier ones.
void merge_page(const AttentionTask& t, float* next, float* into) {
    const int stride = di::partial_stride(t.value_dim), count = t.num_rows * t.num_heads;
    for (int i = 0; i < count; ++i, next += stride, into += stride) {
        const float best = best_of(t, next) > best_of(t, into) ? best_of(t, next) : best_of(t, into);
        const float old_share = di::rounded_exp(best_of(t, into) - best), new_share = di::rounded_exp(best_of(t, next) - best);
        for (int d = 0; d < sums_width(t); d += 16) {
            const F32x16 old_sums = load(into + d) * broadcast(old_share);
            store(into + d, fma(load(next + d), broadcast(new_share), old_sums));
        }
        best_of(t, into) = best;
        total_of(t, into) = total_of(t, into) * old_share + total_of(t, next) * new_share;
    }
}

// What a query's sums are multiplied with: 1 / total, with the sink's share in the total.
inline float output_share(const AttentionTask& t, float* partial, int head) {
    if (!t.sinks) return 1.0f / total_of(t, partial);
    const float best = best_of(t, partial) > t.sinks[head] ? best_of(t, partial) : t.sinks[head];
    const float share = di::rounded_exp(best_of(t, partial) - best);
    return share / (total_of(t, partial) * share + di::rounded_exp(t.sinks[head] - best));
}

// out = sums / total
void finish_attention(const AttentionTask& t, float* partials) {
    for (int i = 0; i < t.num_rows * t.num_heads; ++i) {
        float* partial = partial_at(t, partials, i);
        const F32x16 share = broadcast(output_share(t, partial, i % t.num_heads));
        float* out = t.out + row_of(t, i) * t.out_stride + i % t.num_heads * t.value_dim;
        for (int d = 0; d < t.value_dim; d += 16) store_n(out + d, load(partial + d) * share, t.value_dim - d);
    }
}

}  // namespace

// The gated delta net's inner loops: a convolution per channel, and one token of one head's recurrence.
#pragma once

#include "core_activation.h"

namespace {

// x = silu(sum over taps); the window, oldest input first, moves on by x. Rows of window and kernel are `stride` apart.
void convolve(float* x, float* window, const float* kernel, int32_t taps, int32_t stride, int32_t n) {
    for (int32_t i = 0; i < n; i += 16) {
        const F32x16 newest = load_n(x + i, n - i);
        F32x16 sum = newest * load_n(kernel + static_cast<int64_t>(taps - 1) * stride + i, n - i);
        for (int32_t tap = 0; tap + 1 < taps; ++tap) {
            float* at = window + static_cast<int64_t>(tap) * stride + i;
            sum = fma(load_n(at, n - i), load_n(kernel + static_cast<int64_t>(tap) * stride + i, n - i), sum);
            store_n(at, tap + 2 < taps ? load_n(at + stride, n - i) : newest, n - i);
        }
        store_n(x + i, activation<HiddenAct::kSilu>(sum), n - i);
    }
}

// x = x * factor / sqrt(sum of squares + eps)
void normalize_length(float* x, float eps, float factor, int32_t n) {
    F32x16 squares = zero_f32();
    for (int32_t i = 0; i < n; i += 16) {
        const F32x16 v = load_n(x + i, n - i);
        squares = fma(v, v, squares);
    }
    scale(x, factor / sqrtf(reduce_add(squares) + eps), n);
}

float dot(const float* a, const float* b, int32_t n) {
    F32x16 sum = zero_f32();
    for (int32_t i = 0; i < n; i += 16) sum = fma(load_n(a + i, n - i), load_n(b + i, n - i), sum);
    return reduce_add(sum);
}

// Value columns whose part of the state is a block of its own: with rows of a whole head the 16 KB or 32 KB would fall
// on a quarter of the first cache. Half of the registers hold sums.
constexpr int kDeltaVectors = kVectors > 10 ? 4 : 2;

// V vectors of value columns from `column` on, a block [key_dim][16 V] of the state. Both products with the old state
// come out of one pass over it, so that from memory it is read once: q (decay S + k c) = decay (q S) + (q k) c.
template <int V>
void delta_columns(const di::DeltaStep& step, float query_key, int32_t column) {
    F32x16 known[V], asked[V];
    for (int v = 0; v < V; ++v) known[v] = asked[v] = zero_f32();
    float* state = step.state + static_cast<int64_t>(column) * step.key_dim;
    for (int32_t i = 0; i < step.key_dim; ++i) {
        const F32x16 key = broadcast(step.key[i]), query = broadcast(step.query[i]);
        for (int v = 0; v < V; ++v) {
            const F32x16 s = load(state + 16 * (i * V + v));
            known[v] = fma(key, s, known[v]);
            asked[v] = fma(query, s, asked[v]);
        }
    }
    const F32x16 decay = broadcast(step.decay), beta = broadcast(step.beta), weight = broadcast(query_key);
    for (int v = 0; v < V; ++v) {
        const int32_t at = column + 16 * v, left = step.value_dim - at;
        const F32x16 lacking = (load_n(step.value + at, left) - decay * known[v]) * beta;
        store_n(step.out + at, fma(weight, lacking, decay * asked[v]), left);
        known[v] = lacking;
    }
    for (int32_t i = 0; i < step.key_dim; ++i) {
        const F32x16 key = broadcast(step.key[i]);
        for (int v = 0; v < V; ++v) {
            float* s = state + 16 * (i * V + v);
            store(s, fma(key, known[v], decay * load(s)));
        }
    }
}

void delta_step(const di::DeltaStep& step) {
    const float query_key = dot(step.query, step.key, step.key_dim);
    int32_t column = 0;
    for (; column + 16 * kDeltaVectors <= step.stride; column += 16 * kDeltaVectors) {
        delta_columns<kDeltaVectors>(step, query_key, column);
    }
    for (; column < step.stride; column += 16) delta_columns<1>(step, query_key, column);
}

}  // namespace

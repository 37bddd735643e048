// Elementwise functions over sixteen lanes.
#pragma once

#include <string.h>

#include "core.h"
#include "simd.h"

namespace {

constexpr float kLog2E = 1.44269504088896341f;
constexpr float kLn2High = 0.693145751953125f;  // few bits, so that n * kLn2High is exact
constexpr float kLn2Low = 1.42860682030941723212e-6f;

// (e^r - 1) / r for |r| <= ln2 / 2, by the Taylor series of e^r to the seventh power (remainder < 1e-8).
inline F32x16 exp_slope(F32x16 r) {
    F32x16 p = broadcast(1.0f / 5040.0f);
    p = fma(p, r, broadcast(1.0f / 720.0f));
    p = fma(p, r, broadcast(1.0f / 120.0f));
    p = fma(p, r, broadcast(1.0f / 24.0f));
    p = fma(p, r, broadcast(1.0f / 6.0f));
    p = fma(p, r, broadcast(0.5f));
    return fma(p, r, broadcast(1.0f));
}

// x - n ln2
inline F32x16 exp_rest(F32x16 x, F32x16 n) {
    return fma(n, broadcast(-kLn2Low), fma(n, broadcast(-kLn2High), x));
}

// e^x with a relative error of about 2 ulp; 0 below the smallest normal number, finite above the largest.
// x = n ln2 + r with |r| <= ln2 / 2.
inline F32x16 exp(F32x16 x) {
    x = min(max(x, broadcast(-87.3f)), broadcast(88.0f));
    const F32x16 n = round_nearest(x * broadcast(kLog2E)), r = exp_rest(x, n);
    return scale_by_power(fma(exp_slope(r), r, broadcast(1.0f)), n);
}

// e^x - 1, exact to a few ulp around 0, too, where the subtraction would cancel.
inline F32x16 expm1(F32x16 x) {
    x = min(max(x, broadcast(-87.3f)), broadcast(88.0f));
    const F32x16 n = round_nearest(x * broadcast(kLog2E)), r = exp_rest(x, n);
    return scale_by_power(exp_slope(r) * r, n) + (scale_by_power(broadcast(1.0f), n) - broadcast(1.0f));
}

inline F32x16 sigmoid(F32x16 x) { return broadcast(1.0f) / (broadcast(1.0f) + exp(zero_f32() - x)); }

// tanh(x) = (e^2x - 1) / (e^2x + 1), to a few ulp; e^x's clamps keep it finite.
inline F32x16 tanh(F32x16 x) {
    const F32x16 e = expm1(x + x);
    return e / (e + broadcast(2.0f));
}

// Lanes from `count` on hold `fill`.
inline F32x16 load_n(const float* p, int count, float fill = 0.0f) {
    if (count >= 16) return load(p);
    float lanes[16];
    for (int i = 0; i < 16; ++i) lanes[i] = i < count ? p[i] : fill;
    return load(lanes);
}

inline void store_n(float* p, F32x16 v, int64_t count) {
    if (count >= 16) return store(p, v);
    float lanes[16];
    store(lanes, v);
    for (int i = 0; i < count; ++i) p[i] = lanes[i];
}

// out = x / sqrt(mean(x^2) + eps) * weight
void rms_norm(const float* x, const float* weight, float eps, int32_t n, float* out) {
    F32x16 squares = zero_f32();
    for (int32_t i = 0; i < n; i += 16) {
        const F32x16 v = load_n(x + i, n - i);
        squares = fma(v, v, squares);
    }
    const F32x16 inverse = broadcast(1.0f / sqrtf(reduce_add(squares) / static_cast<float>(n) + eps));
    for (int32_t i = 0; i < n; i += 16) {
        store_n(out + i, load_n(x + i, n - i) * inverse * load_n(weight + i, n - i), n - i);
    }
}

// out = (x - mean) / sqrt(variance + eps) * weight (+ bias), the variance from differences, so that it does not cancel
void layer_norm(const float* x, const float* weight, const float* bias, float eps, int32_t n, float* out) {
    F32x16 sum = zero_f32(), squares = zero_f32();
    for (int32_t i = 0; i < n; i += 16) sum = sum + load_n(x + i, n - i);
    const float mean = reduce_add(sum) / static_cast<float>(n);
    for (int32_t i = 0; i < n; i += 16) {
        const F32x16 v = load_n(x + i, n - i, mean) - broadcast(mean);
        squares = fma(v, v, squares);
    }
    const F32x16 inverse = broadcast(1.0f / sqrtf(reduce_add(squares) / static_cast<float>(n) + eps));
    for (int32_t i = 0; i < n; i += 16) {
        const F32x16 v = (load_n(x + i, n - i) - broadcast(mean)) * inverse * load_n(weight + i, n - i);
        store_n(out + i, bias ? v + load_n(bias + i, n - i) : v, n - i);
    }
}

void rotate(float* head, const float* cos, const float* sin, int32_t half) {
    for (int32_t i = 0; i < half; i += 16) {
        const F32x16 a = load_n(head + i, half - i), b = load_n(head + half + i, half - i);
        const F32x16 c = load_n(cos + i, half - i), s = load_n(sin + i, half - i);
        store_n(head + i, a * c - b * s, half - i);
        store_n(head + half + i, b * c + a * s, half - i);
    }
}

void scale(float* x, float factor, int32_t n) {
    for (int32_t i = 0; i < n; i += 16) store_n(x + i, load_n(x + i, n - i) * broadcast(factor), n - i);
}

void add_scaled(float* y, const float* x, float factor, int32_t n) {
    for (int32_t i = 0; i < n; i += 16) {
        store_n(y + i, fma(load_n(x + i, n - i), broadcast(factor), load_n(y + i, n - i)), n - i);
    }
}

void softcap(float* x, float cap, int32_t n) {
    for (int32_t i = 0; i < n; i += 16) {
        store_n(x + i, tanh(load_n(x + i, n - i) / broadcast(cap)) * broadcast(cap), n - i);
    }
}

// Codes x / step rounded to nearest, with step = max |x| / 127 over 32 columns; sums are those of codes * step.
void quantize(const float* x, int32_t padded_in, const di::QuantizedRow& out) {
    for (int32_t i = 0; i < padded_in; i += 32) {
        const F32x16 low = load(x + i), high = load(x + i + 16);
        const float largest = reduce_max(max(abs(low), abs(high)));
        const float step = largest / 127.0f, inverse = largest > 0.0f ? 127.0f / largest : 0.0f;
        const F32x16 low_codes = round_nearest(low * broadcast(inverse));
        const F32x16 high_codes = round_nearest(high * broadcast(inverse));
        store_i8(out.codes + i, low_codes);
        store_i8(out.codes + i + 16, high_codes);
        const float low_sum = reduce_add(low_codes), high_sum = reduce_add(high_codes);
        out.steps[i / 32] = step;
        out.sums16[i / 16] = low_sum * step;
        out.sums16[i / 16 + 1] = high_sum * step;
        out.sums32[i / 32] = (low_sum + high_sum) * step;
    }
}

void column_sums(const float* x, int32_t padded_in, float* sums16, float* sums32) {
    for (int32_t i = 0; i < padded_in; i += 32) {
        const float low = reduce_add(load(x + i)), high = reduce_add(load(x + i + 16));
        sums16[i / 16] = low;
        sums16[i / 16 + 1] = high;
        sums32[i / 32] = low + high;
    }
}

}  // namespace

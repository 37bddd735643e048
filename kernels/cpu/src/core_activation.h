// What an MLP does between its projections.
#pragma once

#include "core_math.h"

namespace {

using di::HiddenAct;

// The probability that a standard normal variable exceeds |x|: erfc(z) / 2 with z = |x| / sqrt(2), by the Chebyshev fit
// of Numerical Recipes (relative error 1.2e-7), whose exponent is a polynomial in t = 1 / (1 + z / 2).
inline F32x16 normal_tail(F32x16 x) {
    const F32x16 z = abs(x) * broadcast(0.70710678118654752f);
    const F32x16 t = broadcast(1.0f) / fma(z, broadcast(0.5f), broadcast(1.0f));
    constexpr float kFit[] = {-0.82215223f, 1.48851587f, -1.13520398f, 0.27886807f, -0.18628806f,
                              0.09678418f,  0.37409196f, 1.00002368f,  -1.26551223f};
    F32x16 p = broadcast(0.17087277f);
    for (float coefficient : kFit) p = fma(p, t, broadcast(coefficient));
    return t * exp(p - z * z) * broadcast(0.5f);
}

template <HiddenAct ACT>
inline F32x16 activation(F32x16 x) {
    if constexpr (ACT == HiddenAct::kSilu) return x * sigmoid(x);
    // x * P(normal <= x), as max(x, 0) - |x| * P(normal > |x|)
    if constexpr (ACT == HiddenAct::kGelu) return max(x, zero_f32()) - abs(x) * normal_tail(x);
    // x / 2 * (1 + tanh(u)) = x * sigmoid(2u), u = sqrt(2 / pi) * (x + 0.044715 x^3)
    return x * sigmoid(fma(x * x * x, broadcast(0.044715f), x) * broadcast(1.5957691216057308f));
}

template <HiddenAct ACT>
void activate_as(float* x, const float* up, int32_t n) {
    for (int32_t i = 0; i < n; i += 16) {
        const F32x16 y = activation<ACT>(load_n(x + i, n - i));
        store_n(x + i, up ? y * load_n(up + i, n - i) : y, n - i);
    }
}

void activate(HiddenAct act, float* x, const float* up, int32_t n) {
    switch (act) {
        case HiddenAct::kSilu: return activate_as<HiddenAct::kSilu>(x, up, n);
        case HiddenAct::kGelu: return activate_as<HiddenAct::kGelu>(x, up, n);
        case HiddenAct::kGeluTanh: return activate_as<HiddenAct::kGeluTanh>(x, up, n);
    }
}

// gpt-oss: gate = (up + 1) * gate * sigmoid(alpha * gate), gate cut at limit, up at both sides
void clamped_swiglu(float* gate, const float* up, float limit, float alpha, int32_t n) {
    const F32x16 most = broadcast(limit), least = broadcast(-limit);
    for (int32_t i = 0; i < n; i += 16) {
        const F32x16 g = min(load_n(gate + i, n - i), most);
        const F32x16 u = max(min(load_n(up + i, n - i), most), least);
        store_n(gate + i, (u + broadcast(1.0f)) * g * sigmoid(g * broadcast(alpha)), n - i);
    }
}

void mul_sigmoid(float* x, const float* gate, int32_t n) {
    for (int32_t i = 0; i < n; i += 16) {
        store_n(x + i, load_n(x + i, n - i) * sigmoid(load_n(gate + i, n - i)), n - i);
    }
}

}  // namespace

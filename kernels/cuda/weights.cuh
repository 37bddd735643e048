// Logits as integers that order like them, and their probabilities as integers: the definition is
// app/engine/sampling.py. Every step of double precision is an intrinsic that rounds once, as it is there; the compiler
// would fuse products and sums.
#pragma once

#include "state.cuh"

constexpr u64 kOne = 1ull << 43;               // the weight of the likeliest token
constexpr u32 kMinusInfinity = 0xff800000u, kExponent = 0x7f800000u;
constexpr double kLeastScore = -32.0;          // e^-32 * 2^43 rounds to 0
constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52: added and subtracted, it rounds to an integer

// float32 from bits and back, subnormal numbers included: plain conversions flush them here.
__device__ __forceinline__ double widen(u32 bits) {
    if (bits & kExponent) return __uint_as_float(bits);
    const double magnitude = __dmul_rn(static_cast<int>(bits & 0x7fffffu), 0x1p-149);
    return bits >> 31 ? -magnitude : magnitude;
}

__device__ __forceinline__ u32 round_to_float(double x) {
    const double magnitude = fabs(x);
    if (magnitude >= 0x1p-126) return __float_as_uint(__double2float_rn(x));
    const u32 bits = static_cast<u32>(__double2int_rn(__dmul_rn(magnitude, 0x1p149)));
    return x < 0.0 ? bits | 0x80000000u : bits;
}

// a / b rounded once, from 1 / b rounded once: Markstein, "Computation of elementary functions on the IBM RISC
// System/6000 processor" (1990). Quotients must be finite.
__device__ __forceinline__ double divide(double a, double b, double inverse) {
    double q = __dmul_rn(a, inverse);
    q = __fma_rn(__fma_rn(-q, b, a), inverse, q);
    return __fma_rn(__fma_rn(-q, b, a), inverse, q);
}

// Zero has one key, whatever its sign.
__device__ __forceinline__ u32 key_of(u32 bits) {
    if (bits == 0x80000000u) bits = 0;
    return bits ^ (static_cast<u32>(static_cast<int>(bits) >> 31) | 0x80000000u);
}

__device__ __forceinline__ u32 bits_of(u32 key) { return key >> 31 ? key ^ 0x80000000u : ~key; }

// Hugging Face's penalty over prompt and output, then OpenAI's over the output.
__device__ __forceinline__ u32 penalize_logit(const RowState& s, u32 bits, const u8* is_seen, const int* num_output) {
    if (s.repetition_penalty != 1.0 && *is_seen) {
        const double v = widen(bits);
        bits = round_to_float(v > 0.0 ? divide(v, s.repetition_penalty, s.inverse_repetition_penalty)
                              : __dmul_rn(v, s.repetition_penalty));
    }
    if (s.presence_penalty == 0.0 && s.frequency_penalty == 0.0) return bits;
    const int count = *num_output;
    if (!count) return bits;
    const double penalty = __dadd_rn(__dmul_rn(s.frequency_penalty, count), s.presence_penalty);
    return round_to_float(__dadd_rn(widen(bits), -widen(round_to_float(penalty))));
}

// e^score * 2^43 rounded, by the Taylor series of e^r, |r| <= ln(2) / 2.
__device__ double exponential(double score) {
    const double terms[] = {1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0,
                            1.0 / 5040.0,      1.0 / 720.0,      1.0 / 120.0,     1.0 / 24.0,     1.0 / 6.0,
                            0.5,               1.0,              1.0};
    const double shifted = __dadd_rn(__dmul_rn(score, 1.4426950408889634), kRounder), n = __dadd_rn(shifted, -kRounder);
    const double r = __dadd_rn(__dadd_rn(score, -__dmul_rn(n, 0.693147180369123816490)),
                               -__dmul_rn(n, 1.90821492927058770002e-10));
    double power = 1.0 / 6227020800.0;
#pragma unroll
    for (int i = 0; i < 13; ++i) power = __dadd_rn(__dmul_rn(power, r), terms[i]);
    const long long exponent = __double_as_longlong(shifted) - __double_as_longlong(kRounder) + 43;
    return __dmul_rn(power, __longlong_as_double((exponent + 1023) << 52));
}

// The weight of the token with this key; `best` is the likeliest one's logit.
__device__ u64 weight_of(const RowState& s, u32 key, double best) {
    const double distance = __dadd_rn(widen(bits_of(key)), -best);
    if (distance == 0.0) return kOne;
    if (!(__dmul_rn(distance, s.inverse_temperature) > kLeastScore)) return 0;  // nor where the inverse is infinite
    const double power = exponential(divide(distance, s.temperature, s.inverse_temperature));
    return __double_as_longlong(__dadd_rn(power, kRounder)) - __double_as_longlong(kRounder);
}

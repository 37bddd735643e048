// Sixteen lanes as two AVX2 registers (needs AVX2, FMA and F16C).
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace {

struct F32x16 {
    __m256 lo, hi;
};
struct Quad {
    __m256i lo, hi;
};
struct I32x16 {
    __m256i lo, hi;
};

inline F32x16 broadcast(float v) {
    const __m256 r = _mm256_set1_ps(v);
    return {r, r};
}
inline F32x16 zero_f32() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
inline F32x16 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
inline void store(float* p, F32x16 v) {
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
}
inline const __m128i* as_m128(const void* p) { return static_cast<const __m128i*>(p); }
inline F32x16 load_f16(const void* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(as_m128(p))), _mm256_cvtph_ps(_mm_loadu_si128(as_m128(p) + 1))};
}
inline __m256 bf16_half(__m128i h) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16));
}
inline F32x16 load_bf16(const void* p) {
    return {bf16_half(_mm_loadu_si128(as_m128(p))), bf16_half(_mm_loadu_si128(as_m128(p) + 1))};
}
inline F32x16 load_i8(const void* p) {
    const __m128i b = _mm_loadu_si128(as_m128(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(b)), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(b, 8)))};
}
inline F32x16 load_u8(const void* p) {
    const __m128i b = _mm_loadu_si128(as_m128(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(b)), _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(b, 8)))};
}
inline F32x16 operator+(F32x16 a, F32x16 b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
inline F32x16 operator-(F32x16 a, F32x16 b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
inline F32x16 operator*(F32x16 a, F32x16 b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
inline F32x16 operator/(F32x16 a, F32x16 b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
}
inline F32x16 max(F32x16 a, F32x16 b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
inline F32x16 min(F32x16 a, F32x16 b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
inline F32x16 round_nearest(F32x16 a) {
    constexpr int kMode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(a.lo, kMode), _mm256_round_ps(a.hi, kMode)};
}
inline __m256 power_of_two(__m256 n) {
    const __m256i biased = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(biased, 23));
}
inline F32x16 scale_by_power(F32x16 v, F32x16 n) {
    return {_mm256_mul_ps(v.lo, power_of_two(n.lo)), _mm256_mul_ps(v.hi, power_of_two(n.hi))};
}
inline float reduce_add(F32x16 v) {
    const __m256 s = _mm256_add_ps(v.lo, v.hi);
    __m128 r = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    r = _mm_add_ps(r, _mm_movehl_ps(r, r));
    return _mm_cvtss_f32(_mm_add_ss(r, _mm_movehdup_ps(r)));
}
inline float reduce_max(F32x16 v) {
    const __m256 s = _mm256_max_ps(v.lo, v.hi);
    __m128 r = _mm_max_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    r = _mm_max_ps(r, _mm_movehl_ps(r, r));
    return _mm_cvtss_f32(_mm_max_ss(r, _mm_movehdup_ps(r)));
}

inline Quad load_quad(const void* p) {
    const __m256i* q = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(q), _mm256_loadu_si256(q + 1)};
}
template <int N>
inline Quad shift_right(Quad q) {
    return {_mm256_srli_epi32(q.lo, N), _mm256_srli_epi32(q.hi, N)};
}
template <int N>
inline Quad shift_left(Quad q) {
    return {_mm256_slli_epi32(q.lo, N), _mm256_slli_epi32(q.hi, N)};
}
inline Quad mask(Quad q, uint32_t bits) {
    const __m256i m = _mm256_set1_epi32(static_cast<int>(bits));
    return {_mm256_and_si256(q.lo, m), _mm256_and_si256(q.hi, m)};
}
inline Quad operator|(Quad a, Quad b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
template <int J>
inline F32x16 column(Quad q) {
    if constexpr (J > 0) q = shift_right<8 * J>(q);
    if constexpr (J < 3) q = mask(q, 0xffu);
    return {_mm256_cvtepi32_ps(q.lo), _mm256_cvtepi32_ps(q.hi)};
}

// Six tokens of two registers, two of weights and one broadcast: all sixteen registers.
constexpr int kGemmRows = 6;

}  // namespace

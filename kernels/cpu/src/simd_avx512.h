// Sixteen lanes as one AVX-512 register (needs F, BW, DQ, VL and VNNI).
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace {

struct F32x16 {
    __m512 v;
};
struct Quad {
    __m512i v;
};

inline F32x16 broadcast(float v) { return {_mm512_set1_ps(v)}; }
inline void prefetch(const uint8_t* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1); }
inline F32x16 zero_f32() { return {_mm512_setzero_ps()}; }
inline F32x16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, F32x16 v) { _mm512_storeu_ps(p, v.v); }
inline F32x16 load_f16(const void* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
inline F32x16 load_bf16(const void* p) {
    const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p)));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(wide, 16))};
}
inline F32x16 load_i8(const void* p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))))};
}
inline F32x16 load_u8(const void* p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))))};
}
inline F32x16 operator+(F32x16 a, F32x16 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F32x16 operator-(F32x16 a, F32x16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F32x16 operator*(F32x16 a, F32x16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F32x16 operator/(F32x16 a, F32x16 b) { return {_mm512_div_ps(a.v, b.v)}; }
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline F32x16 max(F32x16 a, F32x16 b) { return {_mm512_max_ps(a.v, b.v)}; }
inline F32x16 min(F32x16 a, F32x16 b) { return {_mm512_min_ps(a.v, b.v)}; }
inline F32x16 abs(F32x16 a) { return {_mm512_abs_ps(a.v)}; }
inline F32x16 round_nearest(F32x16 a) {
    return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
inline F32x16 scale_by_power(F32x16 v, F32x16 n) { return {_mm512_scalef_ps(v.v, n.v)}; }
inline void store_i8(int8_t* p, F32x16 v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(v.v)));
}
inline float reduce_add(F32x16 v) {
    const __m256 s = _mm256_add_ps(_mm512_castps512_ps256(v.v), _mm512_extractf32x8_ps(v.v, 1));
    __m128 r = _mm_add_ps(_mm256_castps256_ps128(s), _mm256_extractf128_ps(s, 1));
    r = _mm_add_ps(r, _mm_movehl_ps(r, r));
    return _mm_cvtss_f32(_mm_add_ss(r, _mm_movehdup_ps(r)));
}
inline float reduce_max(F32x16 v) { return _mm512_reduce_max_ps(v.v); }

inline Quad load_quad(const void* p) { return {_mm512_loadu_si512(p)}; }
inline void store_quad(void* p, Quad q) { _mm512_storeu_si512(p, q.v); }
template <int N>
inline Quad shift_right(Quad q) {
    return {_mm512_srli_epi32(q.v, N)};
}
template <int N>
inline Quad shift_left(Quad q) {
    return {_mm512_slli_epi32(q.v, N)};
}
inline Quad mask(Quad q, uint32_t bits) {
    return {_mm512_and_si512(q.v, _mm512_set1_epi32(static_cast<int>(bits)))};
}
inline Quad operator+(Quad a, Quad b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline Quad operator|(Quad a, Quad b) { return {_mm512_or_si512(a.v, b.v)}; }
inline Quad operator^(Quad a, Quad b) { return {_mm512_xor_si512(a.v, b.v)}; }
inline Quad repeat(uint32_t word) { return {_mm512_set1_epi32(static_cast<int>(word))}; }
// Lane r of columns[c] = rows[r][c]: pairs of words, then of double words, then the 128-bit parts.
inline void transpose(const uint32_t (&rows)[16][16], Quad* columns) {
    __m512i pairs[16], fours[16];
    for (int i = 0; i < 16; i += 2) {
        const __m512i a = _mm512_loadu_si512(rows[i]), b = _mm512_loadu_si512(rows[i + 1]);
        pairs[i] = _mm512_unpacklo_epi32(a, b);
        pairs[i + 1] = _mm512_unpackhi_epi32(a, b);
    }
    for (int i = 0; i < 16; i += 4) {
        for (int k = 0; k < 2; ++k) {
            fours[i + 2 * k] = _mm512_unpacklo_epi64(pairs[i + k], pairs[i + k + 2]);
            fours[i + 2 * k + 1] = _mm512_unpackhi_epi64(pairs[i + k], pairs[i + k + 2]);
        }
    }
    for (int k = 0; k < 4; ++k) {
        const __m512i even_low = _mm512_shuffle_i32x4(fours[k], fours[4 + k], 0x88);
        const __m512i odd_low = _mm512_shuffle_i32x4(fours[k], fours[4 + k], 0xdd);
        const __m512i even_high = _mm512_shuffle_i32x4(fours[8 + k], fours[12 + k], 0x88);
        const __m512i odd_high = _mm512_shuffle_i32x4(fours[8 + k], fours[12 + k], 0xdd);
        columns[k] = {_mm512_shuffle_i32x4(even_low, even_high, 0x88)};
        columns[4 + k] = {_mm512_shuffle_i32x4(odd_low, odd_high, 0x88)};
        columns[8 + k] = {_mm512_shuffle_i32x4(even_low, even_high, 0xdd)};
        columns[12 + k] = {_mm512_shuffle_i32x4(odd_low, odd_high, 0xdd)};
    }
}
// Byte J of every lane as a float: column J of the quad.
template <int J>
inline F32x16 column(Quad q) {
    if constexpr (J == 0) {
        q = mask(q, 0xffu);
    } else if constexpr (J == 3) {
        q = shift_right<24>(q);
    } else {  // one shuffle is shift and mask
        constexpr uint32_t kAbove = 0x80808000u;
        const __m128i places = _mm_setr_epi32(static_cast<int>(kAbove + J), static_cast<int>(kAbove + 4 + J),
                                              static_cast<int>(kAbove + 8 + J), static_cast<int>(kAbove + 12 + J));
        q = {_mm512_shuffle_epi8(q.v, _mm512_broadcast_i32x4(places))};
    }
    return {_mm512_cvtepi32_ps(q.v)};
}

// Nibble N of every lane as a float: the permutation looks at the low four bits of its indices alone.
template <int N>
inline F32x16 nibble(Quad q) {
    const __m512 values = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return {_mm512_permutexvar_ps(N ? shift_right<4 * N>(q).v : q.v, values)};
}

constexpr bool kNibbleDots = false;

template <bool WIDE>
class CodeDot {
  public:
    void add(Quad q, const int8_t* x) {
        int32_t columns;
        std::memcpy(&columns, x, sizeof columns);
        sum_ = _mm512_dpbusd_epi32(sum_, q.v, _mm512_set1_epi32(columns));
    }
    F32x16 value() const { return {_mm512_cvtepi32_ps(sum_)}; }

  private:
    __m512i sum_ = _mm512_setzero_si512();
};

// Twelve independent sums cover the latency of two FMA ports, and leave registers for the weights.
constexpr int kGemmRows = 12;
constexpr int kInt8Rows = 8;     // tokens at a time of an int8 product
constexpr int kFloatRows = 2;   // of a float32 product straight from the codes
constexpr int kFloatSteps = 4;  // that one such row takes side by side
constexpr int kVectors = 28;  // that attention may keep in registers, of sums and what they are made of

}  // namespace

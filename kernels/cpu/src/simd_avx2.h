// Sixteen lanes as two AVX2 registers (needs AVX2, FMA and F16C; DI_VNNI: AVX-VNNI, too).
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace {

struct F32x16 {
    __m256 lo, hi;
};
struct Quad {
    __m256i lo, hi;
};

inline F32x16 broadcast(float v) {
    const __m256 r = _mm256_set1_ps(v);
    return {r, r};
}
inline void prefetch(const uint8_t* p) { _mm_prefetch(reinterpret_cast<const char*>(p), _MM_HINT_T1); }
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
inline F32x16 abs(F32x16 a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
}
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
inline void store_i8(int8_t* p, F32x16 v) {
    // Packing works within 128-bit halves; the permutation puts the pairs back in order.
    const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(v.lo), _mm256_cvtps_epi32(v.hi));
    const __m256i ordered = _mm256_permute4x64_epi64(words, 0xd8);
    const __m128i bytes = _mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
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
inline void store_quad(void* p, Quad q) {
    __m256i* out = static_cast<__m256i*>(p);
    _mm256_storeu_si256(out, q.lo);
    _mm256_storeu_si256(out + 1, q.hi);
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
inline Quad operator+(Quad a, Quad b) { return {_mm256_add_epi32(a.lo, b.lo), _mm256_add_epi32(a.hi, b.hi)}; }
inline Quad operator|(Quad a, Quad b) { return {_mm256_or_si256(a.lo, b.lo), _mm256_or_si256(a.hi, b.hi)}; }
inline Quad operator^(Quad a, Quad b) { return {_mm256_xor_si256(a.lo, b.lo), _mm256_xor_si256(a.hi, b.hi)}; }
inline Quad repeat(uint32_t word) {
    const __m256i r = _mm256_set1_epi32(static_cast<int>(word));
    return {r, r};
}
// Eight rows from `row` on and eight columns from `column` on: pairs of words, then of double words, then the halves.
inline void transpose_eight(const uint32_t (&rows)[16][16], int row, int column, __m256i* out) {
    __m256i pairs[8], fours[8];
    for (int i = 0; i < 8; i += 2) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[row + i] + column));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[row + i + 1] + column));
        pairs[i] = _mm256_unpacklo_epi32(a, b);
        pairs[i + 1] = _mm256_unpackhi_epi32(a, b);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int k = 0; k < 2; ++k) {
            fours[i + 2 * k] = _mm256_unpacklo_epi64(pairs[i + k], pairs[i + k + 2]);
            fours[i + 2 * k + 1] = _mm256_unpackhi_epi64(pairs[i + k], pairs[i + k + 2]);
        }
    }
    for (int k = 0; k < 4; ++k) {
        out[k] = _mm256_permute2x128_si256(fours[k], fours[4 + k], 0x20);
        out[4 + k] = _mm256_permute2x128_si256(fours[k], fours[4 + k], 0x31);
    }
}
// Lane r of columns[c] = rows[r][c].
inline void transpose(const uint32_t (&rows)[16][16], Quad* columns) {
    for (int column = 0; column < 16; column += 8) {
        __m256i low[8], high[8];
        transpose_eight(rows, 0, column, low);
        transpose_eight(rows, 8, column, high);
        for (int k = 0; k < 8; ++k) columns[column + k] = {low[k], high[k]};
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
        const __m128i bytes = _mm_setr_epi32(static_cast<int>(kAbove + J), static_cast<int>(kAbove + 4 + J),
                                             static_cast<int>(kAbove + 8 + J), static_cast<int>(kAbove + 12 + J));
        const __m256i places = _mm256_broadcastsi128_si256(bytes);
        q = {_mm256_shuffle_epi8(q.lo, places), _mm256_shuffle_epi8(q.hi, places)};
    }
    return {_mm256_cvtepi32_ps(q.lo), _mm256_cvtepi32_ps(q.hi)};
}

// Nibble N of every lane as a float.
template <int N>
inline F32x16 nibble(Quad q) {
    if constexpr (N > 0) q = shift_right<4 * N>(q);
    if constexpr (N < 7) q = mask(q, 0xfu);
    return {_mm256_cvtepi32_ps(q.lo), _mm256_cvtepi32_ps(q.hi)};
}

inline __m256i four_columns(const int8_t* x) {
    int32_t word;
    std::memcpy(&word, x, sizeof word);
    return _mm256_set1_epi32(word);
}
inline F32x16 to_floats(__m256i lo, __m256i hi) { return {_mm256_cvtepi32_ps(lo), _mm256_cvtepi32_ps(hi)}; }

#if defined(DI_VNNI)

constexpr bool kNibbleDots = false;

template <bool WIDE>
class CodeDot {
  public:
    void add(Quad q, const int8_t* x) {
        const __m256i columns = four_columns(x);
        lo_ = _mm256_dpbusd_avx_epi32(lo_, q.lo, columns);
        hi_ = _mm256_dpbusd_avx_epi32(hi_, q.hi, columns);
    }
    F32x16 value() const { return to_floats(lo_, hi_); }

  private:
    __m256i lo_ = _mm256_setzero_si256(), hi_ = _mm256_setzero_si256();
};

#else

constexpr bool kNibbleDots = true;

// Pairs of products in 16 bits: eight times 2 * 15 * 127 fits, so codes up to 15 are summed there.
class PairSums {
  public:
    void add(Quad q, __m256i columns) {
        lo_ = _mm256_add_epi16(lo_, _mm256_maddubs_epi16(q.lo, columns));
        hi_ = _mm256_add_epi16(hi_, _mm256_maddubs_epi16(q.hi, columns));
    }
    __m256i low() const { return _mm256_madd_epi16(lo_, _mm256_set1_epi16(1)); }
    __m256i high() const { return _mm256_madd_epi16(hi_, _mm256_set1_epi16(1)); }

  private:
    __m256i lo_ = _mm256_setzero_si256(), hi_ = _mm256_setzero_si256();
};

template <bool WIDE>
class CodeDot {
  public:
    void add(Quad q, const int8_t* x) { sums_.add(q, four_columns(x)); }
    F32x16 value() const { return to_floats(sums_.low(), sums_.high()); }

  private:
    PairSums sums_;
};

// Codes up to 255 as two nibbles.
template <>
class CodeDot<true> {
  public:
    void add(Quad q, const int8_t* x) {
        const __m256i columns = four_columns(x);
        small_.add(mask(q, 0x0f0f0f0fu), columns);
        large_.add(mask(shift_right<4>(q), 0x0f0f0f0fu), columns);
    }
    void add(Quad small, Quad large, const int8_t* x) {
        const __m256i columns = four_columns(x);
        small_.add(small, columns);
        large_.add(large, columns);
    }
    F32x16 value() const {
        return to_floats(_mm256_add_epi32(small_.low(), _mm256_slli_epi32(large_.low(), 4)),
                         _mm256_add_epi32(small_.high(), _mm256_slli_epi32(large_.high(), 4)));
    }

  private:
    PairSums small_, large_;
};

#endif

// Six tokens of two registers, two of weights and one broadcast: all sixteen registers.
constexpr int kGemmRows = 6;
constexpr int kInt8Rows = 4;     // tokens at a time of an int8 product
constexpr int kFloatRows = 2;   // of a float32 product straight from the codes
constexpr int kFloatSteps = 2;  // that one such row takes side by side
constexpr int kVectors = 7;  // that attention may keep in registers, of sums and what they are made of

}  // namespace

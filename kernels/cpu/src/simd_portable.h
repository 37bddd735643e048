// Sixteen lanes in plain C++: the definition the other backends follow, and what runs on any machine.
#pragma once

#include <math.h>
#include <cstdint>
#include <cstring>

#include "half.h"

namespace {

struct F32x16 {
    float lane[16];
};

// Sixteen 32-bit lanes of four code bytes each: four consecutive columns of sixteen rows.
struct Quad {
    uint32_t lane[16];
};

#define DI_EACH_LANE for (int i = 0; i < 16; ++i)

inline F32x16 broadcast(float v) {
    F32x16 r;
    DI_EACH_LANE r.lane[i] = v;
    return r;
}
inline void prefetch(const uint8_t*) {}  // left to the machine
inline F32x16 zero_f32() { return broadcast(0.0f); }
inline F32x16 load(const float* p) {
    F32x16 r;
    std::memcpy(r.lane, p, sizeof r.lane);
    return r;
}
inline void store(float* p, F32x16 v) { std::memcpy(p, v.lane, sizeof v.lane); }
inline F32x16 load_f16(const void* p) {
    uint16_t h[16];
    std::memcpy(h, p, sizeof h);
    F32x16 r;
    DI_EACH_LANE r.lane[i] = half_to_float(h[i]);
    return r;
}
inline F32x16 load_bf16(const void* p) {
    uint16_t h[16];
    std::memcpy(h, p, sizeof h);
    F32x16 r;
    DI_EACH_LANE r.lane[i] = bf16_to_float(h[i]);
    return r;
}
inline F32x16 load_i8(const void* p) {
    int8_t b[16];
    std::memcpy(b, p, sizeof b);
    F32x16 r;
    DI_EACH_LANE r.lane[i] = static_cast<float>(b[i]);
    return r;
}
inline F32x16 load_u8(const void* p) {
    uint8_t b[16];
    std::memcpy(b, p, sizeof b);
    F32x16 r;
    DI_EACH_LANE r.lane[i] = static_cast<float>(b[i]);
    return r;
}
inline F32x16 operator+(F32x16 a, F32x16 b) {
    DI_EACH_LANE a.lane[i] += b.lane[i];
    return a;
}
inline F32x16 operator-(F32x16 a, F32x16 b) {
    DI_EACH_LANE a.lane[i] -= b.lane[i];
    return a;
}
inline F32x16 operator*(F32x16 a, F32x16 b) {
    DI_EACH_LANE a.lane[i] *= b.lane[i];
    return a;
}
inline F32x16 operator/(F32x16 a, F32x16 b) {
    DI_EACH_LANE a.lane[i] /= b.lane[i];
    return a;
}
inline F32x16 fma(F32x16 a, F32x16 b, F32x16 c) {
    DI_EACH_LANE c.lane[i] += a.lane[i] * b.lane[i];
    return c;
}
inline F32x16 max(F32x16 a, F32x16 b) {
    DI_EACH_LANE a.lane[i] = a.lane[i] > b.lane[i] ? a.lane[i] : b.lane[i];
    return a;
}
inline F32x16 min(F32x16 a, F32x16 b) {
    DI_EACH_LANE a.lane[i] = a.lane[i] < b.lane[i] ? a.lane[i] : b.lane[i];
    return a;
}
inline F32x16 abs(F32x16 a) {
    DI_EACH_LANE a.lane[i] = fabsf(a.lane[i]);
    return a;
}
inline F32x16 round_nearest(F32x16 a) {
    DI_EACH_LANE a.lane[i] = nearbyintf(a.lane[i]);
    return a;
}
// v * 2^n for integral n in [-126, 127].
inline F32x16 scale_by_power(F32x16 v, F32x16 n) {
    DI_EACH_LANE {
        const int32_t bits = (static_cast<int32_t>(n.lane[i]) + 127) << 23;
        float power;
        std::memcpy(&power, &bits, sizeof power);
        v.lane[i] *= power;
    }
    return v;
}
// Integral lanes in [-128, 127] as bytes.
inline void store_i8(int8_t* p, F32x16 v) { DI_EACH_LANE p[i] = static_cast<int8_t>(v.lane[i]); }
// By halves, in this order in every backend: lanes eight apart, then four, two and one.
inline float reduce_add(F32x16 v) {
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; ++i) v.lane[i] += v.lane[half + i];
    }
    return v.lane[0];
}
inline float reduce_max(F32x16 v) {
    float best = v.lane[0];
    DI_EACH_LANE best = v.lane[i] > best ? v.lane[i] : best;
    return best;
}

inline Quad load_quad(const void* p) {
    Quad r;
    std::memcpy(r.lane, p, sizeof r.lane);
    return r;
}
inline void store_quad(void* p, Quad q) { std::memcpy(p, q.lane, sizeof q.lane); }
template <int N>
inline Quad shift_right(Quad q) {
    DI_EACH_LANE q.lane[i] >>= N;
    return q;
}
template <int N>
inline Quad shift_left(Quad q) {
    DI_EACH_LANE q.lane[i] <<= N;
    return q;
}
inline Quad mask(Quad q, uint32_t bits) {
    DI_EACH_LANE q.lane[i] &= bits;
    return q;
}
inline Quad operator+(Quad a, Quad b) {
    DI_EACH_LANE a.lane[i] += b.lane[i];
    return a;
}
inline Quad operator|(Quad a, Quad b) {
    DI_EACH_LANE a.lane[i] |= b.lane[i];
    return a;
}
inline Quad operator^(Quad a, Quad b) {
    DI_EACH_LANE a.lane[i] ^= b.lane[i];
    return a;
}
inline Quad repeat(uint32_t word) {
    Quad r;
    DI_EACH_LANE r.lane[i] = word;
    return r;
}
// Lane r of columns[c] = rows[r][c].
inline void transpose(const uint32_t (&rows)[16][16], Quad* columns) {
    for (int c = 0; c < 16; ++c) DI_EACH_LANE columns[c].lane[i] = rows[i][c];
}
// Byte J of every lane as a float: column J of the quad.
template <int J>
inline F32x16 column(Quad q) {
    F32x16 r;
    DI_EACH_LANE r.lane[i] = static_cast<float>((q.lane[i] >> (8 * J)) & 0xffu);
    return r;
}

// Nibble N of every lane as a float.
template <int N>
inline F32x16 nibble(Quad q) {
    F32x16 r;
    DI_EACH_LANE r.lane[i] = static_cast<float>((q.lane[i] >> (4 * N)) & 0xfu);
    return r;
}

constexpr bool kNibbleDots = false;  // CodeDot<true> takes the nibbles of codes apart, too

// Exact dot products of up to eight quads with int8 columns in [-127, 127]. WIDE: codes above 15 occur.
template <bool WIDE>
class CodeDot {
  public:
    void add(Quad q, const int8_t* x) {
        DI_EACH_LANE {
            for (int j = 0; j < 4; ++j) sum_[i] += static_cast<int32_t>((q.lane[i] >> (8 * j)) & 0xffu) * x[j];
        }
    }
    F32x16 value() const {
        F32x16 r;
        DI_EACH_LANE r.lane[i] = static_cast<float>(sum_[i]);
        return r;
    }

  private:
    int32_t sum_[16] = {};
};

#undef DI_EACH_LANE

constexpr int kGemmRows = 2;
constexpr int kInt8Rows = 2;
constexpr int kFloatRows = 1;   // of a float32 product straight from the codes
constexpr int kFloatSteps = 1;  // that one such row takes side by side
constexpr int kVectors = 4;  // that attention may keep in registers, of sums and what they are made of

}  // namespace

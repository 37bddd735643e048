// What PTX instructions compute, each a function of its own name with dots as underscores (PTX ISA, "Instruction Set");
// tests/kernels/ptx_translator.py writes the calls. Registers are bits: .s32 ones are uint32_t here too. Approximate
// instructions are computed exactly; .ftz is the host's own flush, which scheduler.cpp switches on.
#pragma once

#include "device.h"
#include "ptx_host.h"

extern "C" int cuda_host_launch(void (*)(void**), const void*, void**);

namespace ptx {

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

inline float f32_bits(u32 bits) { return cuda_host::bits_as<float>(bits); }

template <class To, class From>
inline To convert(From from) {  // between registers of one size
    return cuda_host::bits_as<To>(from);
}

template <class T>
inline T load(u64 address) {
    T value;
    memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
}
template <class T>
inline void store(u64 address, T value) {
    memcpy(reinterpret_cast<void*>(address), &value, sizeof value);
}
// Shared addresses count from the block's static memory, which stands before the dynamic one.
inline u64 shared_address(u32 offset) { return reinterpret_cast<u64>(CUDA_HOST_THREAD->dynamic_shared) + offset; }

#define PTX_BINARY(name, T, expression) \
    inline T name(T a, T b) { return static_cast<T>(expression); }
#define PTX_SIGNED(name, U, S, expression)                \
    inline U name(U x, U y) {                             \
        const S a = static_cast<S>(x), b = static_cast<S>(y); \
        return static_cast<U>(expression);                \
    }
PTX_BINARY(add_s32, u32, a + b)
PTX_BINARY(sub_s32, u32, a - b)
PTX_BINARY(mul_lo_s32, u32, a * b)
PTX_BINARY(add_s64, u64, a + b)
PTX_BINARY(sub_s64, u64, a - b)
PTX_BINARY(mul_lo_s64, u64, a * b)
PTX_BINARY(and_b32, u32, a & b)
PTX_BINARY(or_b32, u32, a | b)
PTX_BINARY(xor_b32, u32, a ^ b)
PTX_BINARY(and_b64, u64, a & b)
PTX_BINARY(or_b64, u64, a | b)
PTX_BINARY(and_b16, u16, a & b)
PTX_BINARY(or_b16, u16, a | b)
PTX_BINARY(and_pred, bool, a && b)
PTX_BINARY(or_pred, bool, a || b)
PTX_BINARY(xor_pred, bool, a != b)
PTX_BINARY(div_u32, u32, a / b)
PTX_BINARY(rem_u32, u32, a % b)
PTX_SIGNED(div_s32, u32, s32, a / b)
PTX_SIGNED(rem_s32, u32, s32, a % b)
PTX_SIGNED(min_s32, u32, s32, a < b ? a : b)
PTX_SIGNED(max_s32, u32, s32, a > b ? a : b)
PTX_BINARY(add_ftz_f32, float, a + b)
PTX_BINARY(sub_ftz_f32, float, a - b)
PTX_BINARY(mul_ftz_f32, float, a * b)
PTX_BINARY(div_approx_ftz_f32, float, a / b)
PTX_BINARY(max_ftz_f32, float, fmaxf(a, b))
PTX_BINARY(min_ftz_f32, float, fminf(a, b))

inline u32 mad_lo_s32(u32 a, u32 b, u32 c) { return a * b + c; }
inline u64 mul_wide_s32(u32 a, u32 b) { return static_cast<u64>(static_cast<s64>(static_cast<s32>(a)) * static_cast<s32>(b)); }
inline u64 mul_wide_u32(u32 a, u32 b) { return static_cast<u64>(a) * b; }
inline u32 mul_hi_s32(u32 a, u32 b) { return static_cast<u32>(mul_wide_s32(a, b) >> 32); }
inline u32 mul_hi_u32(u32 a, u32 b) { return static_cast<u32>(mul_wide_u32(a, b) >> 32); }
inline float fma_rn_ftz_f32(float a, float b, float c) { return fmaf(a, b, c); }
inline u32 neg_s32(u32 a) { return 0u - a; }
inline u32 not_b32(u32 a) { return ~a; }
inline bool not_pred(bool a) { return !a; }
inline float neg_ftz_f32(float a) { return -a; }
inline float abs_ftz_f32(float a) { return fabsf(a); }
inline float ex2_approx_ftz_f32(float a) { return exp2f(a); }
inline float rcp_approx_ftz_f32(float a) { return 1.0f / a; }
inline float rsqrt_approx_ftz_f32(float a) { return 1.0f / sqrtf(a); }
inline float sin_approx_ftz_f32(float a) { return sinf(a); }
inline float cos_approx_ftz_f32(float a) { return cosf(a); }
inline float cvt_rni_f32_f32(float a) { return rintf(a); }
inline float cvt_rmi_ftz_f32_f32(float a) { return floorf(a); }
inline u32 cvt_rzi_ftz_s32_f32(float a) { return static_cast<u32>(static_cast<s32>(a)); }
inline float cvt_ftz_sat_f32_f32(float a) { return fminf(fmaxf(a, 0.0f), 1.0f); }
// Rounded down, and towards zero: a double holds the product exactly, and of sums enough.
inline float round_down(double exact) {
    const float nearest = static_cast<float>(exact);
    return nearest > exact ? nextafterf(nearest, -HUGE_VALF) : nearest;
}
inline float fma_rm_ftz_f32(float a, float b, float c) { return round_down(static_cast<double>(a) * b + c); }
inline float add_rz_ftz_f32(float a, float b) {
    const double exact = static_cast<double>(a) + b;
    return exact < 0 ? -round_down(-exact) : round_down(exact);
}
inline u32 shl_b32(u32 a, u32 count) { return count < 32 ? a << count : 0; }
inline u64 shl_b64(u64 a, u32 count) { return count < 64 ? a << count : 0; }
inline u32 shr_u32(u32 a, u32 count) { return count < 32 ? a >> count : 0; }
inline u64 shr_u64(u64 a, u32 count) { return count < 64 ? a >> count : 0; }
inline u32 shr_s32(u32 a, u32 count) { return static_cast<u32>(static_cast<s32>(a) >> (count < 32 ? count : 31)); }
inline u32 bfi_b32(u32 a, u32 b, u32 first, u32 count) {
    const u32 mask = (count < 32 ? (1u << count) - 1 : ~0u) << first;
    return (a << first & mask) | (b & ~mask);
}

inline u32 lop3_b32(u32 a, u32 b, u32 c, u32 table) {
    u32 result = 0;
    for (unsigned i = 0; i < 8; ++i) {
        if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
    }
    return result;
}
// Bit 3 of a selector copies the byte's sign instead.
inline u32 prmt_b32(u32 a, u32 b, u32 selectors) {
    const u64 bytes = static_cast<u64>(b) << 32 | a;
    u32 result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned selector = selectors >> (4 * i) & 15;
        const u32 byte = static_cast<u32>(bytes >> (8 * (selector & 7))) & 255;
        result |= (selector & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
    }
    return result;
}

inline half2 as_pair(u32 bits) { return cuda_host::bits_as<half2>(bits); }
inline u32 as_word(half2 pair) { return cuda_host::bits_as<u32>(pair); }
inline u32 sub_f16x2(u32 a, u32 b) { return as_word(__hsub2(as_pair(a), as_pair(b))); }
inline u32 add_f16x2(u32 a, u32 b) { return as_word(__hadd2(as_pair(a), as_pair(b))); }
inline u32 mul_f16x2(u32 a, u32 b) { return as_word(__hmul2(as_pair(a), as_pair(b))); }
inline u32 fma_rn_f16x2(u32 a, u32 b, u32 c) { return as_word(__hfma2(as_pair(a), as_pair(b), as_pair(c))); }
inline float cvt_f32_f16(u16 a) { return __half2float({a}); }
inline u16 cvt_rn_f16_f32(float a) { return __float2half_rn(a).x; }
inline u32 cvt_rn_f16x2_f32(float high, float low) { return as_word(__floats2half2_rn(low, high)); }
inline float cvt_rn_f32_u16(u16 a) { return static_cast<float>(a); }
inline float cvt_rn_f32_s16(u16 a) { return static_cast<float>(static_cast<int16_t>(a)); }
inline u32 cvt_s32_s16(u16 a) { return static_cast<u32>(static_cast<s32>(static_cast<int16_t>(a))); }
inline u32 cvt_u32_u8(u16 a) { return a & 255u; }
inline u32 cvt_s32_s8(u16 a) { return static_cast<u32>(static_cast<s32>(static_cast<int8_t>(a))); }
inline float cvt_rn_f32_u32(u32 a) { return static_cast<float>(a); }
inline float cvt_rn_f32_s32(u32 a) { return static_cast<float>(static_cast<s32>(a)); }
inline u64 cvt_s64_s32(u32 a) { return static_cast<u64>(static_cast<s64>(static_cast<s32>(a))); }
inline u32 cvt_u32_u64(u64 a) { return static_cast<u32>(a); }
inline u64 cvt_u64_u32(u32 a) { return a; }
inline u32 cvt_u32_u16(u16 a) { return a; }
inline u16 cvt_u16_u32(u32 a) { return static_cast<u16>(a); }
inline u64 cvta_to_global_u64(u64 a) { return a; }

#define PTX_COMPARE(name, T, expression) \
    inline bool setp_##name(T a, T b) { return expression; }
#define PTX_COMPARE_SIGNED(name, U, S, expression)            \
    inline bool setp_##name(U x, U y) {                       \
        const S a = static_cast<S>(x), b = static_cast<S>(y); \
        return expression;                                    \
    }
PTX_COMPARE(eq_s32, u32, a == b)
PTX_COMPARE(ne_s32, u32, a != b)
PTX_COMPARE(eq_s64, u64, a == b)
PTX_COMPARE(ne_s64, u64, a != b)
PTX_COMPARE(lt_u32, u32, a < b)
PTX_COMPARE(le_u32, u32, a <= b)
PTX_COMPARE(gt_u32, u32, a > b)
PTX_COMPARE(ge_u32, u32, a >= b)
PTX_COMPARE(ne_s16, u16, a != b)
PTX_COMPARE_SIGNED(lt_s64, u64, s64, a < b)
PTX_COMPARE_SIGNED(ge_s64, u64, s64, a >= b)
PTX_COMPARE_SIGNED(lt_s32, u32, s32, a < b)
PTX_COMPARE_SIGNED(le_s32, u32, s32, a <= b)
PTX_COMPARE_SIGNED(gt_s32, u32, s32, a > b)
PTX_COMPARE_SIGNED(ge_s32, u32, s32, a >= b)
PTX_COMPARE(eq_ftz_f32, float, a == b)
PTX_COMPARE(lt_ftz_f32, float, a < b)
PTX_COMPARE(le_ftz_f32, float, a <= b)
PTX_COMPARE(gt_ftz_f32, float, a > b)
PTX_COMPARE(ge_ftz_f32, float, a >= b)
PTX_COMPARE(ltu_ftz_f32, float, !(a >= b))
PTX_COMPARE(leu_ftz_f32, float, !(a > b))
PTX_COMPARE(gtu_ftz_f32, float, !(a <= b))
PTX_COMPARE(geu_ftz_f32, float, !(a < b))
PTX_COMPARE(neu_ftz_f32, float, !(a == b))
PTX_COMPARE(nan_ftz_f32, float, a != a || b != b)

template <class T>
inline T select(T a, T b, bool is_first) {
    return is_first ? a : b;
}

}  // namespace ptx

#include "ptx_wide.h"  // with the macros above

// PTX instructions of doubles and of 64-bit integers, and of single bits; see ptx_operations.h, which includes this.
#pragma once

namespace ptx {

inline double f64_bits(u64 bits) { return cuda_host::bits_as<double>(bits); }

PTX_BINARY(add_rn_f64, double, a + b)
PTX_BINARY(mul_rn_f64, double, a * b)
PTX_BINARY(min_u32, u32, a < b ? a : b)
PTX_BINARY(max_u64, u64, a > b ? a : b)
PTX_BINARY(xor_b64, u64, a ^ b)
PTX_BINARY(mul_hi_u64, u64, __umul64hi(a, b))

inline double fma_rn_f64(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline double neg_f64(double a) { return -a; }
inline double abs_f64(double a) { return fabs(a); }
inline double cvt_ftz_f64_f32(float a) { return a; }
inline float cvt_rn_ftz_f32_f64(double a) { return static_cast<float>(a); }
inline double cvt_rn_f64_s32(u32 a) { return static_cast<s32>(a); }
inline double cvt_rn_f64_u64(u64 a) { return static_cast<double>(a); }
inline u32 cvt_rni_s32_f64(double a) { return static_cast<u32>(static_cast<s32>(rint(a))); }
inline double cvt_rpi_f64_f64(double a) { return ceil(a); }
inline u64 cvt_rzi_u64_f64(double a) { return static_cast<u64>(a); }

// The low `count` bits of a, from bit `first` of b on.
inline u64 bfi_b64(u64 a, u64 b, u32 first, u32 count) {
    const u64 mask = count < 64 ? (1ull << count) - 1 : ~0ull;
    return (b & ~(mask << first)) | (a & mask) << first;
}
inline u32 popc_b32(u32 a) { return static_cast<u32>(__builtin_popcount(a)); }
inline u32 brev_b32(u32 a) {
    u32 result = 0;
    for (unsigned i = 0; i < 32; ++i) result |= (a >> i & 1) << (31 - i);
    return result;
}
// How far the highest bit must be moved to the left; all ones where there is none.
inline u32 bfind_shiftamt_u32(u32 a) { return a ? static_cast<u32>(__builtin_clz(a)) : ~0u; }

PTX_COMPARE(eq_s16, u16, a == b)
PTX_COMPARE(lt_u64, u64, a < b)
PTX_COMPARE(le_u64, u64, a <= b)
PTX_COMPARE(gt_u64, u64, a > b)
PTX_COMPARE(ge_u64, u64, a >= b)
PTX_COMPARE(eq_f64, double, a == b)
PTX_COMPARE(lt_f64, double, a < b)
PTX_COMPARE(gt_f64, double, a > b)
PTX_COMPARE(ltu_f64, double, !(a >= b))
PTX_COMPARE(leu_f64, double, !(a > b))
PTX_COMPARE(neu_f64, double, !(a == b))

}  // namespace ptx

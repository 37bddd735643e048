// __half and __half2 on the host, by F16C: every operation rounds once to nearest even, as the device does. __hfma2
// rounds twice (float32, then float16), which differs by one unit in about one of 100,000 results.
#pragma once

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>

struct __half {
    uint16_t x;
};
struct __attribute__((aligned(4))) __half2 {
    __half x, y;
};
typedef __half half;
typedef __half2 half2;

static inline float __half2float(__half h) { return _cvtsh_ss(h.x); }
static inline __half __float2half_rn(float f) { return {static_cast<uint16_t>(_cvtss_sh(f, 0))}; }
static inline __half __float2half(float f) { return __float2half_rn(f); }
static inline __half __ushort_as_half(unsigned short u) { return {u}; }
static inline unsigned short __half_as_ushort(__half h) { return h.x; }
static inline __half2 __floats2half2_rn(float a, float b) { return {__float2half_rn(a), __float2half_rn(b)}; }
static inline __half2 __float2half2_rn(float a) { return __floats2half2_rn(a, a); }
static inline __half2 __half2half2(__half a) { return {a, a}; }
static inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
static inline __half __low2half(__half2 a) { return a.x; }
static inline __half __high2half(__half2 a) { return a.y; }
static inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
static inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
static inline float __low2float(__half2 a) { return __half2float(a.x); }
static inline float __high2float(__half2 a) { return __half2float(a.y); }

namespace cuda_host {

template <class F>
inline __half2 each(F f, __half2 a, __half2 b) {
    return __floats2half2_rn(f(__low2float(a), __low2float(b)), f(__high2float(a), __high2float(b)));
}

}  // namespace cuda_host

static inline __half __hadd(__half a, __half b) { return __float2half_rn(__half2float(a) + __half2float(b)); }
static inline __half __hsub(__half a, __half b) { return __float2half_rn(__half2float(a) - __half2float(b)); }
static inline __half __hmul(__half a, __half b) { return __float2half_rn(__half2float(a) * __half2float(b)); }
static inline __half __hfma(__half a, __half b, __half c) {
    return __float2half_rn(fmaf(__half2float(a), __half2float(b), __half2float(c)));
}
static inline __half2 __hadd2(__half2 a, __half2 b) {
    return cuda_host::each([](float x, float y) { return x + y; }, a, b);
}
static inline __half2 __hsub2(__half2 a, __half2 b) {
    return cuda_host::each([](float x, float y) { return x - y; }, a, b);
}
static inline __half2 __hmul2(__half2 a, __half2 b) {
    return cuda_host::each([](float x, float y) { return x * y; }, a, b);
}
static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }

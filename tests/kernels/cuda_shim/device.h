// The CUDA language as g++ sees it: a .cu file compiles against this header and runs on scheduler.cpp. Kernels are
// `extern "C" __global__`, dynamic shared memory is DYNAMIC_SHARED(type, name), inline PTX stands in ptx.cuh alone.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "half.h"
#include "runtime.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#if defined(__SANITIZE_ADDRESS__)
#define __shared__ static  // the sanitizer gives red zones to globals of default sections only
#else
#define __shared__ static __attribute__((section("cuda_host_shared")))  // one region, filled with NaN before each block
#endif
#define DYNAMIC_SHARED(type, name) type* name = reinterpret_cast<type*>(CUDA_HOST_THREAD->dynamic_shared)

#define threadIdx (CUDA_HOST_THREAD->thread)
#define blockIdx (CUDA_HOST_THREAD->block)
#define blockDim (CUDA_HOST_THREAD->block_size)
#define gridDim (CUDA_HOST_THREAD->grid_size)

#define CUDA_HOST_TEXT(x) #x
#define CUDA_HOST_LINE(x) CUDA_HOST_TEXT(x)
#define CUDA_HOST_HERE __FILE__ ":" CUDA_HOST_LINE(__LINE__)
#define __syncthreads() cuda_host::block_barrier(CUDA_HOST_HERE)
#define __syncwarp(...) cuda_host::sync_warp(CUDA_HOST_HERE __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(m, v, ...) cuda_host::exchange(CUDA_HOST_HERE, m, v, cuda_host::Shuffle::kIndex, __VA_ARGS__)
#define __shfl_up_sync(m, v, ...) cuda_host::exchange(CUDA_HOST_HERE, m, v, cuda_host::Shuffle::kUp, __VA_ARGS__)
#define __shfl_down_sync(m, v, ...) cuda_host::exchange(CUDA_HOST_HERE, m, v, cuda_host::Shuffle::kDown, __VA_ARGS__)
#define __shfl_xor_sync(m, v, ...) cuda_host::exchange(CUDA_HOST_HERE, m, v, cuda_host::Shuffle::kXor, __VA_ARGS__)
#define __ballot_sync(m, p) cuda_host::ballot(CUDA_HOST_HERE, m, p)
#define __any_sync(m, p) (cuda_host::ballot(CUDA_HOST_HERE, m, p) != 0)
#define __all_sync(m, p) (cuda_host::ballot(CUDA_HOST_HERE, m, p) == static_cast<unsigned>(m))

namespace cuda_host {

inline void sync_warp(const char* where, unsigned mask = ~0u) { warp_barrier(where, mask); }

template <class T>
inline T exchange(const char* where, unsigned mask, T value, Shuffle mode, int operand, int width = 32) {
    static_assert(sizeof(T) <= 8);
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(T));
    bits = shuffle(where, mask, bits, mode, operand, width);
    memcpy(&value, &bits, sizeof(T));
    return value;
}

template <class... Args, size_t... I>
inline void call(void (*kernel)(Args...), void** args, std::index_sequence<I...>) {
    kernel(*static_cast<std::decay_t<Args>*>(args[I])...);
}

// Calls a kernel with pointers to its arguments, as the driver's launch does.
template <auto Kernel>
struct Thunk;
template <class... Args, void (*Kernel)(Args...)>
struct Thunk<Kernel> {
    static void run(void** args) { call(Kernel, args, std::index_sequence_for<Args...>{}); }
};

template <class To, class From>
inline To bits_as(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}

}  // namespace cuda_host

#define CUDA_HOST_VECTOR2(T, name, alignment)          \
    struct __attribute__((aligned(alignment))) name {  \
        T x, y;                                        \
    };                                                 \
    static inline name make_##name(T x, T y) { return {x, y}; }
#define CUDA_HOST_VECTOR4(T, name, alignment)          \
    struct __attribute__((aligned(alignment))) name {  \
        T x, y, z, w;                                  \
    };                                                 \
    static inline name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
CUDA_HOST_VECTOR2(float, float2, 8)
CUDA_HOST_VECTOR4(float, float4, 16)
CUDA_HOST_VECTOR2(int, int2, 8)
CUDA_HOST_VECTOR4(int, int4, 16)
CUDA_HOST_VECTOR2(unsigned, uint2, 8)
CUDA_HOST_VECTOR4(unsigned, uint4, 16)

static inline float2 __half22float2(__half2 a) { return {__low2float(a), __high2float(a)}; }
static inline __half2 __float22half2_rn(float2 a) { return __floats2half2_rn(a.x, a.y); }

static inline float __int_as_float(int i) { return cuda_host::bits_as<float>(i); }
static inline int __float_as_int(float f) { return cuda_host::bits_as<int>(f); }
static inline float __uint_as_float(unsigned i) { return cuda_host::bits_as<float>(i); }
static inline unsigned __float_as_uint(float f) { return cuda_host::bits_as<unsigned>(f); }

template <class T>
static inline T __ldg(const T* p) {
    return *p;
}
template <class T>
static inline T __ldcs(const T* p) {
    return *p;
}
template <class T>
static inline T min(T a, T b) {
    return b < a ? b : a;
}
template <class T>
static inline T max(T a, T b) {
    return a < b ? b : a;
}
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline float cuda_host_exp(float x) { return exp2f(x * 1.4426950408889634f); }
#define __expf cuda_host_exp  // the C library declares __expf itself
#define __logf logf
#define __sinf sinf
#define __cosf cosf
static inline float __fdividef(float a, float b) { return a / b; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __clz(int x) { return x ? __builtin_clz(static_cast<unsigned>(x)) : 32; }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(static_cast<uint64_t>(a) * b >> 32);
}
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
static inline void __threadfence() {}
static inline void __threadfence_system() {}

// Each rounds once: an empty asm keeps the compiler from fusing products with sums.
static inline double cuda_host_rounded(double x) {
    asm("" : "+x"(x));
    return x;
}
static inline double __dmul_rn(double a, double b) { return cuda_host_rounded(a * b); }
static inline double __dadd_rn(double a, double b) { return cuda_host_rounded(a + b); }
static inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline float __double2float_rn(double x) { return static_cast<float>(x); }
static inline int __double2int_rn(double x) { return static_cast<int>(rint(x)); }
static inline double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }
static inline long long __double_as_longlong(double x) { return cuda_host::bits_as<long long>(x); }
static inline double __longlong_as_double(long long x) { return cuda_host::bits_as<double>(x); }
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const uint64_t bytes = static_cast<uint64_t>(b) << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        result |= static_cast<unsigned>(bytes >> (8 * (selector >> (4 * i) & 7)) & 255) << (8 * i);
    }
    return result;
}

template <class T, class U>
static inline T atomicAdd(T* p, U value) {
    if constexpr (std::is_integral_v<T>) {
        return __atomic_fetch_add(p, static_cast<T>(value), __ATOMIC_RELAXED);
    } else {
        T old, sum;
        __atomic_load(p, &old, __ATOMIC_RELAXED);
        do {
            sum = old + static_cast<T>(value);
        } while (!__atomic_compare_exchange(p, &old, &sum, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
        return old;
    }
}
template <class T>
static inline T atomicMax(T* p, T value) {
    T old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (old < value && !__atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return old;
}
template <class T>
static inline T atomicExch(T* p, T value) {
    return __atomic_exchange_n(p, value, __ATOMIC_RELAXED);
}
template <class T>
static inline T atomicCAS(T* p, T expected, T value) {
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return expected;
}

// Picks the backend the flags of this object ask for.
#pragma once

#include <math.h>

// What must become registers: a compiler that declines to inline leaves sums in memory, and each waits for its store.
#if defined(_MSC_VER)
#define DI_INLINE __forceinline
#else
#define DI_INLINE inline __attribute__((always_inline))
#endif

#if defined(DI_BACKEND_AVX512)
#include "simd_avx512.h"
#elif defined(DI_BACKEND_AVX2)
#include "simd_avx2.h"
#else
#include "simd_portable.h"
#endif

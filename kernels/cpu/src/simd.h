// Picks the backend the flags of this object ask for.
#pragma once

#include <math.h>

#if defined(DI_BACKEND_AVX512)
#include "simd_avx512.h"
#elif defined(DI_BACKEND_AVX2)
#include "simd_avx2.h"
#else
#include "simd_portable.h"
#endif

#pragma once

#include <cmath>

// Functions of the C library in float, computed in double and rounded once. The float versions of glibc, MinGW and MSVC
// differ in the last bit, and then a greedy reply depends on the system: seen 20 tokens into one of a small model.
namespace di {

// static: each instruction set's object keeps its own, and none is chosen for all by the linker.
static inline float rounded_exp(float x) { return static_cast<float>(std::exp(static_cast<double>(x))); }
static inline float rounded_log1p(float x) { return static_cast<float>(std::log1p(static_cast<double>(x))); }
static inline float rounded_cos(float x) { return static_cast<float>(std::cos(static_cast<double>(x))); }
static inline float rounded_sin(float x) { return static_cast<float>(std::sin(static_cast<double>(x))); }

}  // namespace di

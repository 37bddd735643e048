// What the instructions of kernels/cuda/ptx.cuh do, in plain C++. Fragment layouts: PTX ISA, "Matrix Fragments for
// mma.m16n8k16"; with g = lane / 4 and t = lane % 4,
//   A (16 x 16): register 0 = row g, columns 2t, 2t + 1; 1 = row g + 8; 2 and 3 = the same rows, columns + 8
//   B (16 x 8):  register 0 = rows 2t, 2t + 1 of column g; 1 = rows + 8
//   C (16 x 8):  0, 1 = row g, columns 2t, 2t + 1; 2, 3 = row g + 8
#pragma once

#include "half.h"
#include "runtime.h"

namespace cuda_host {

// Eight halfs that four lanes hold, two each.
inline __m256 eight_floats(const uint32_t* words) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(words)));
}

inline float dot(const __m256 (&a)[2], const __m256 (&b)[2]) {
    const __m256 eight = _mm256_fmadd_ps(a[1], b[1], _mm256_mul_ps(a[0], b[0]));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

inline void mma_m16n8k16(const char* where, float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    const uint32_t mine[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    const auto words = gather(where, mine, 6);
    const unsigned lane = CUDA_HOST_THREAD->lane, row = lane & ~3u, column = lane % 4 * 8;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned lower = i / 2, from = column + i % 2 * 4;
        const __m256 rows[2] = {eight_floats(words[lower] + row), eight_floats(words[2 + lower] + row)};
        const __m256 columns[2] = {eight_floats(words[4] + from), eight_floats(words[5] + from)};
        c[i] += dot(rows, columns);
    }
}

// Registers 0 and 1 of A and 0 of B are the same for half as many columns.
inline void mma_m16n8k8(const char* where, float (&c)[4], const unsigned (&a)[2], unsigned b) {
    mma_m16n8k16(where, c, {a[0], a[1], 0, 0}, {b, 0});
}

// Four matrices of 8 x 8 halfs; lane 8 m + i has the address of row i of matrix m (PTX ISA, "ldmatrix").
inline void load_matrices(const char* where, unsigned (&d)[4], const void* row, bool is_transposed) {
    check_alignment(where, row);
    const uint64_t address = reinterpret_cast<uint64_t>(row);
    const uint32_t mine[2] = {static_cast<uint32_t>(address), static_cast<uint32_t>(address >> 32)};
    const auto words = gather(where, mine, 2);
    const unsigned g = CUDA_HOST_THREAD->lane / 4, t = CUDA_HOST_THREAD->lane % 4;
    for (unsigned m = 0; m < 4; ++m) {
        uint16_t halfs[2];
        for (unsigned h = 0; h < 2; ++h) {
            const unsigned from = 8 * m + (is_transposed ? 2 * t + h : g), at = is_transposed ? g : 2 * t + h;
            const uint64_t start = static_cast<uint64_t>(words[1][from]) << 32 | words[0][from];
            halfs[h] = reinterpret_cast<const uint16_t*>(start)[at];
        }
        d[m] = halfs[0] | static_cast<unsigned>(halfs[1]) << 16;
    }
}

}  // namespace cuda_host

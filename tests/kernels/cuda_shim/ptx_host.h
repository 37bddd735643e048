// What the instructions of kernels/cuda/ptx.cuh do, in plain C++. Fragment layouts: PTX ISA, "Matrix Fragments for
// mma.m16n8k16"; with g = lane / 4 and t = lane % 4,
//   A (16 x 16): register 0 = row g, columns 2t, 2t + 1; 1 = row g + 8; 2 and 3 = the same rows, columns + 8
//   B (16 x 8):  register 0 = rows 2t, 2t + 1 of column g; 1 = rows + 8
//   C (16 x 8):  0, 1 = row g, columns 2t, 2t + 1; 2, 3 = row g + 8
#pragma once

#include "half.h"
#include "runtime.h"

namespace cuda_host {

inline float half_bits_to_float(uint64_t pair, int which) {
    return __half2float({static_cast<uint16_t>(pair >> (16 * which))});
}

inline void mma_m16n8k16(const char* where, float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    uint64_t low[32], high[32], columns[32];
    gather(where, a[0] | static_cast<uint64_t>(a[1]) << 32, low);
    gather(where, a[2] | static_cast<uint64_t>(a[3]) << 32, high);
    gather(where, b[0] | static_cast<uint64_t>(b[1]) << 32, columns);
    const unsigned lane = CUDA_HOST_THREAD->lane, g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned is_lower = i / 2, column = 2 * t + i % 2;
        float sum = 0.0f;
        for (unsigned k = 0; k < 16; ++k) {
            const unsigned part = k / 8, holder = k % 8 / 2, which = k % 2;
            const uint64_t row = (part ? high : low)[g * 4 + holder] >> (32 * is_lower);
            const uint64_t column_pair = columns[column * 4 + holder] >> (32 * part);
            sum += half_bits_to_float(row, which) * half_bits_to_float(column_pair, which);
        }
        c[i] += sum;
    }
}

}  // namespace cuda_host

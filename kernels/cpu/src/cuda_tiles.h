// Rows of codes -> the tiles that the CUDA kernels read; kernels/cuda/pack.py defines them, and its NumPy gives these bytes.
#pragma once

#include <stdint.h>

namespace di {

// Rows of a little-endian bitstream: codes of 3, 4 or 8 bits, or elements of 16.
struct CodeRows {
    const uint8_t* data;
    int64_t num_rows, row_bytes;
    int32_t num_columns, bits;
    bool is_signed;  // two's complement, which becomes offset binary
};

// `tiles`: as many bytes as `codes_bytes` of kernels/cuda/pack.py tells. Throws std::invalid_argument.
void pack_cuda_tiles(const CodeRows& rows, uint8_t* tiles);

}  // namespace di

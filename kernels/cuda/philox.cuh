// Philox 4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011); app/engine/philox.py is the
// same function.
#pragma once

#include "common.cuh"

// The first 64 of the 128 bits for this counter (its high 64 bits are 0) and key.
__device__ __forceinline__ u64 random_64(u64 seed, u64 step) {
    u32 c0 = static_cast<u32>(step), c1 = static_cast<u32>(step >> 32), c2 = 0, c3 = 0;
    u32 k0 = static_cast<u32>(seed), k1 = static_cast<u32>(seed >> 32);
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const u32 high0 = __umulhi(0xD2511F53u, c0), low0 = 0xD2511F53u * c0;
        const u32 high1 = __umulhi(0xCD9E8D57u, c2), low1 = 0xCD9E8D57u * c2;
        c0 = high1 ^ c1 ^ k0;
        c1 = low1;
        c2 = high0 ^ c3 ^ k1;
        c3 = low0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c0 | static_cast<u64>(c1) << 32;
}

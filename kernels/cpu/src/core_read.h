// Reading memory for its own sake: the yardstick of everything that waits for memory.
#pragma once

#include <string.h>

#include "simd.h"

namespace {

// The bitwise or of all 32-bit words of whole 256-byte blocks.
uint32_t read_blocks(const uint8_t* data, size_t num_blocks) {
    Quad seen[4];
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < num_blocks; ++i) {
        for (int k = 0; k < 4; ++k) seen[k] = seen[k] | load_quad(data + i * 256 + static_cast<size_t>(k) * 64);
    }
    uint32_t words[16], all = 0;
    store_quad(words, (seen[0] | seen[1]) | (seen[2] | seen[3]));
    for (uint32_t word : words) all |= word;
    return all;
}

}  // namespace

// What device code compiled for the host asks of the scheduler (scheduler.cpp): its place in the grid, and everything
// that makes one thread wait for others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuda_host {

struct Index3 {
    unsigned x, y, z;
};

struct ThreadContext {
    Index3 thread, block, block_size, grid_size;
    unsigned lane;
    unsigned char* dynamic_shared;
};

enum class Shuffle { kIndex, kUp, kDown, kXor };

#if defined(__SANITIZE_THREAD__)
ThreadContext* current_thread();  // not inlined: read by code that the sanitizer does not instrument
#define CUDA_HOST_THREAD cuda_host::current_thread()
#else
extern ThreadContext* current __attribute__((visibility("hidden")));
#define CUDA_HOST_THREAD cuda_host::current
#endif

// `where` is "file:line", for the error that a divergent operation ends in.
void block_barrier(const char* where);
void warp_barrier(const char* where, unsigned mask);
uint64_t shuffle(const char* where, unsigned mask, uint64_t value, Shuffle mode, int operand, int width);
unsigned ballot(const char* where, unsigned mask, int predicate);
// The words of all 32 lanes, [count][32]; for operations of the whole warp, such as mma. They stay until its next but
// one operation.
constexpr unsigned kMaxWords = 6;
const uint32_t (*gather(const char* where, const uint32_t* words, unsigned count))[32];
// Ends the launch where an address is no multiple of 16, as the card does for instructions that need it.
void check_alignment(const char* where, const void* address);
// Copies happen at the wait, so that a missing wait reads what was there before; in greedy schedules at once, so that one
// into what others still read shows. Zeros follow the bytes.
void copy_async(void* destination, const void* source, unsigned num_bytes, unsigned num_zeros);
void commit_copies();
void wait_for_copies(unsigned num_groups_left);

}  // namespace cuda_host

// The card's memory speed, as yardstick: what every other kernel's bytes a second are compared with. Each thread has four
// loads of 16 bytes under way before it uses the first.
#include "common.cuh"

constexpr int kThreads = 256, kLoads = 4;

struct CopyArgs {
    const uint4* from;
    uint4* to;         // read_words: one element a block
    long long count;   // elements of 16 bytes, a multiple of kLoads * kThreads
};

template <class Use>
__device__ __forceinline__ void for_each(const CopyArgs& args, Use use) {
    const long long step = static_cast<long long>(gridDim.x) * kLoads * kThreads;
#pragma unroll 1  // how often would be a division of 64 bits, which sm_120 calls a function for
    for (long long first = static_cast<long long>(blockIdx.x) * kLoads * kThreads; first < args.count; first += step) {
        uint4 v[kLoads];
#pragma unroll
        for (int i = 0; i < kLoads; ++i) v[i] = __ldcs(args.from + first + i * kThreads + threadIdx.x);
#pragma unroll
        for (int i = 0; i < kLoads; ++i) use(first + i * kThreads + threadIdx.x, v[i]);
    }
}

extern "C" __global__ void __launch_bounds__(kThreads) copy_words(const CopyArgs args) {
    for_each(args, [&](long long at, const uint4& v) { args.to[at] = v; });
}

// The exclusive or of all: in `to`, so that the loads are not left out.
extern "C" __global__ void __launch_bounds__(kThreads) read_words(const CopyArgs args) {
    __shared__ u32 words[kThreads / kWarp];
    u32 all = 0;
    for_each(args, [&](long long, const uint4& v) { all ^= v.x ^ v.y ^ v.z ^ v.w; });
#pragma unroll
    for (int distance = kWarp / 2; distance; distance /= 2) all ^= __shfl_xor_sync(kAllLanes, all, distance);
    if (threadIdx.x % kWarp == 0) words[threadIdx.x / kWarp] = all;
    __syncthreads();
    if (threadIdx.x) return;
    all = 0;
    for (u32 word : words) all ^= word;
    args.to[blockIdx.x] = make_uint4(all, 0, 0, 0);
}

// One kernel a fault that the harness must catch; launched as <<<2, 128>>> with 1024 bytes of dynamic shared memory,
// in[256], out[count], count = 250.
#include "ptx.cuh"

#define ARGS const float* __restrict__ in, float* __restrict__ out, int count
#define INDEX (blockIdx.x * 128 + threadIdx.x)
#define T (threadIdx.x)

__device__ inline float warp_sum(float v) {
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    return v;
}

extern "C" __global__ void no_fault(ARGS) {
    DYNAMIC_SHARED(float, s);
    s[T] = in[INDEX];
    __syncthreads();
    const float v = s[(T + 64) % 128];
    __syncthreads();
    s[T] = v;
    __syncthreads();
    if (INDEX < count) out[INDEX] = s[(T + 1) % 128];
}

extern "C" __global__ void reads_a_later_thread_too_early(ARGS) {
    DYNAMIC_SHARED(float, s);
    s[T] = in[INDEX];
    const float v = s[(T + 1) % 128];
    if (INDEX < count) out[INDEX] = v;
}

extern "C" __global__ void reads_an_earlier_thread_too_early(ARGS) {
    DYNAMIC_SHARED(float, s);
    s[T] = in[INDEX];
    const float v = T ? s[T - 1] : 0.0f;
    if (INDEX < count) out[INDEX] = v;
}

extern "C" __global__ void no_barrier_after_warp_sums(ARGS) {
    __shared__ float sums[4];
    const float v = warp_sum(in[INDEX]);
    if (T % 32 == 0) sums[T / 32] = v;
    if (INDEX < count) out[INDEX] = sums[0] + sums[1] + sums[2] + sums[3];
}

extern "C" __global__ void writes_again_before_all_have_read(ARGS) {
    __shared__ float sums[4];
    float total = 0.0f;
    for (int i = 0; i < 2; ++i) {
        const float v = warp_sum(in[INDEX] + i);
        if (T % 32 == 0) sums[T / 32] = v;
        __syncthreads();
        total += sums[0] + sums[1] + sums[2] + sums[3];
    }
    if (INDEX < count) out[INDEX] = total;
}

extern "C" __global__ void takes_a_shuffle_for_a_barrier(ARGS) {
    __shared__ float s[128];
    s[T] = in[INDEX];
    __shfl_sync(0xffffffffu, 0.0f, 0);
    const float v = s[T ^ 1];
    if (INDEX < count) out[INDEX] = v;
}

extern "C" __global__ void reads_past_the_end(ARGS) {
    if (INDEX < count) out[INDEX] = in[INDEX + 7];
}

extern "C" __global__ void writes_past_the_end(ARGS) { out[INDEX + 8] = in[INDEX]; }

extern "C" __global__ void passes_dynamic_shared_memory(ARGS) {
    DYNAMIC_SHARED(float, s);
    s[T + 129] = in[INDEX];
    __syncthreads();
    if (INDEX < count) out[INDEX] = s[T + 129];
}

extern "C" __global__ void passes_static_shared_memory(ARGS) {
    __shared__ float s[127];
    s[T] = in[INDEX];
    __syncthreads();
    if (INDEX < count) out[INDEX] = s[T];
}

extern "C" __global__ void reads_four_floats_misaligned(ARGS) {
    const float4 v = *reinterpret_cast<const float4*>(in + INDEX % 200 + 1);
    if (INDEX < count) out[INDEX] = v.x;
}

extern "C" __global__ void reads_what_nobody_wrote(ARGS) {
    __shared__ float s[128];
    if (T < 64) s[T] = in[INDEX];
    __syncthreads();
    if (INDEX < count) out[INDEX] = s[T];
}

extern "C" __global__ void shuffles_in_a_branch(ARGS) {
    float v = in[INDEX];
    if (T % 32 < 16) v += __shfl_xor_sync(0xffffffffu, v, 1);
    if (INDEX < count) out[INDEX] = v;
}

extern "C" __global__ void shuffles_after_some_returned(ARGS) {
    if (INDEX >= count) return;
    out[INDEX] = warp_sum(in[INDEX]);
}

extern "C" __global__ void meets_a_barrier_in_a_branch(ARGS) {
    if (T < 40) __syncthreads();
    else __syncwarp();
    if (T < 40) __syncthreads();
    if (INDEX < count) out[INDEX] = in[INDEX];
}

extern "C" __global__ void does_not_wait_for_its_copy(ARGS) {
    DYNAMIC_SHARED(float, s);
    copy_async_16(s + 4 * (T / 4), in + 4 * (INDEX / 4));
    commit_copies();
    __syncthreads();
    if (INDEX < count) out[INDEX] = s[T];
}

extern "C" __global__ void copies_to_a_misaligned_place(ARGS) {
    DYNAMIC_SHARED(float, s);
    if (T % 8 == 0) copy_async_16(s + T + 2, in + 4 * (INDEX / 4));
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
    if (INDEX < count) out[INDEX] = s[T];
}

extern "C" __global__ void loads_matrices_misaligned(ARGS) {
    DYNAMIC_SHARED(float, s);
    s[T] = in[INDEX];
    __syncthreads();
    u32 d[4];
    load_matrices<false>(d, s + T % 32 * 2);
    if (INDEX < count) out[INDEX] = d[0];
}

extern "C" __global__ void counts_without_atomics(ARGS) {
    if (T == 0) out[0] = 0.0f;
    __syncthreads();
    out[0] += 1.0f;
}

extern "C" __global__ void leaves_the_result_to_the_order_of_blocks(ARGS) {
    if (T < 8) out[T] = blockIdx.x + 1.0f;
}

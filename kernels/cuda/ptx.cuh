// Every instruction that is written as PTX. Off the device (tests/kernels/cuda_shim) each has a twin in plain C++.
#pragma once

#ifdef __CUDA_ARCH__
#include <cuda_fp16.h>
#define DYNAMIC_SHARED(type, name) extern __shared__ __align__(16) type name[]
#else
#include "ptx_host.h"
#endif

typedef unsigned int u32;

// (a & mask) | base in one instruction.
template <u32 kMask, u32 kBase>
__device__ __forceinline__ u32 mask_or(u32 a) {
#ifdef __CUDA_ARCH__
    u32 d;
    asm("lop3.b32 %0, %1, %2, %3, 0xEA;" : "=r"(d) : "r"(a), "n"(kMask), "n"(kBase));
    return d;
#else
    return (a & kMask) | kBase;
#endif
}

// c += a b for a 16 x 16 tile a and a 16 x 8 tile b of halfs, by the whole warp.
__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#ifdef __CUDA_ARCH__
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
    cuda_host::mma_m16n8k16("mma.m16n8k16", c, a, b);
#endif
}

// Likewise for a 16 x 8 tile a and an 8 x 8 tile b.
__device__ __forceinline__ void mma_m16n8k8(float (&c)[4], const u32 (&a)[2], u32 b) {
#ifdef __CUDA_ARCH__
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b));
#else
    cuda_host::mma_m16n8k8("mma.m16n8k8", c, a, b);
#endif
}

// Four matrices of 8 x 8 halfs from shared memory, of which lane 8 m + i gives the address of row i of matrix m: register
// m is row g = lane / 4 of it, columns 2t and 2t + 1 for t = lane % 4; transposed, rows 2t and 2t + 1 of column g.
template <bool kIsTransposed>
__device__ __forceinline__ void load_matrices(u32 (&d)[4], const void* row) {
#ifdef __CUDA_ARCH__
    const u32 address = static_cast<u32>(__cvta_generic_to_shared(row));
    if constexpr (kIsTransposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                     : "r"(address)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                     : "r"(address)
                     : "memory");
    }
#else
    cuda_host::load_matrices("ldmatrix", d, row, kIsTransposed);
#endif
}

// Sixteen bytes to shared memory without passing registers: the first num_bytes from global memory, zeros behind them.
__device__ __forceinline__ void copy_async_16(void* shared, const void* global, int num_bytes = 16) {
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                     static_cast<u32>(__cvta_generic_to_shared(shared))),
                 "l"(global), "r"(num_bytes)
                 : "memory");
#else
    cuda_host::copy_async(shared, global, num_bytes, 16 - num_bytes);
#endif
}

__device__ __forceinline__ void commit_copies() {
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.commit_group;" ::: "memory");
#else
    cuda_host::commit_copies();
#endif
}

// Until at most kGroupsLeft of this thread's committed groups are under way.
template <int kGroupsLeft>
__device__ __forceinline__ void wait_for_copies() {
#ifdef __CUDA_ARCH__
    asm volatile("cp.async.wait_group %0;" ::"n"(kGroupsLeft) : "memory");
#else
    cuda_host::wait_for_copies(kGroupsLeft);
#endif
}

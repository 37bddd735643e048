// A thread of a block as a fiber: own stack, switched in user space, known to the sanitizers.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "runtime.h"

#if defined(CUDA_HOST_TSAN)
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif
#if defined(CUDA_HOST_ASAN)
extern "C" {
void __sanitizer_start_switch_fiber(void** fake_stack, const void* bottom, size_t size);
void __sanitizer_finish_switch_fiber(void* fake_stack, const void** bottom, size_t* size);
}
#endif

namespace cuda_host {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kPage = 4096;

enum class Wait { kNone, kBlock, kWarp };

struct AsyncCopy {
    void* destination;
    const void* source;
    unsigned num_bytes, num_zeros, group;

    void run() const {
        memcpy(destination, source, num_bytes);
        memset(static_cast<char*>(destination) + num_bytes, 0, num_zeros);
    }
};

struct Fiber : ThreadContext {  // first: device code reads the current fiber as a ThreadContext
    unsigned linear = 0, warp = 0;
    bool is_done = false;
    Wait wait = Wait::kNone;
    unsigned wait_generation = 0;
    const char* where = "";
    void* stack_pointer = nullptr;
    char* stack = nullptr;
    size_t stack_bytes = kStackBytes;
    void* sanitizer = nullptr;   // TSan's fiber
    void* fake_stack = nullptr;  // ASan's
    std::vector<AsyncCopy> copies;
    unsigned copy_group = 0;
};

// What a barrier orders, told to TSan; switching fibers by itself orders nothing.
inline void release([[maybe_unused]] void* token) {
#if defined(CUDA_HOST_TSAN)
    __tsan_release(token);
#endif
}
inline void acquire([[maybe_unused]] void* token) {
#if defined(CUDA_HOST_TSAN)
    __tsan_acquire(token);
#endif
}

// Saves the callee-saved registers and the stack pointer into *from, and goes on where `to` was saved.
extern "C" void cuda_host_switch(void** from, void* to);

inline void switch_fiber(Fiber& from, Fiber& to) {
#if defined(CUDA_HOST_TSAN)
    __tsan_switch_to_fiber(to.sanitizer, 1);
#endif
#if defined(CUDA_HOST_ASAN)
    __sanitizer_start_switch_fiber(&from.fake_stack, to.stack, to.stack_bytes);
#endif
    cuda_host_switch(&from.stack_pointer, to.stack_pointer);
#if defined(CUDA_HOST_ASAN)
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

// A fresh stack that starts in `entry`, below it an unreadable page.
inline void prepare_stack(Fiber& fiber, void (*entry)()) {
    if (!fiber.stack) {
        void* map = mmap(nullptr, kStackBytes + kPage, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        mprotect(map, kPage, PROT_NONE);
        fiber.stack = static_cast<char*>(map) + kPage;
    }
    void** top = reinterpret_cast<void**>(fiber.stack + kStackBytes - 64);
    *--top = nullptr;  // the return address of `entry`, which never returns
    *--top = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    fiber.stack_pointer = top;
#if defined(CUDA_HOST_TSAN)
    if (fiber.sanitizer) __tsan_destroy_fiber(fiber.sanitizer);
    fiber.sanitizer = __tsan_create_fiber(0);
#endif
}

}  // namespace cuda_host

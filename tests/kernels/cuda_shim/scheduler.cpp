// Runs the blocks of a grid one after the other, the threads of a block as fibers that switch only where they wait for
// each other. Always compiled without sanitizers; CUDA_HOST_ASAN and CUDA_HOST_TSAN add what those must be told.
#include <pthread.h>
#include <xmmintrin.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "faults.h"

asm(".text\n.type cuda_host_switch,@function\n.globl cuda_host_switch\n.hidden cuda_host_switch\ncuda_host_switch:\n"
    "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
    "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
    "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n");

extern "C" {
extern char __start_cuda_host_shared[] __attribute__((weak, visibility("hidden")));
extern char __stop_cuda_host_shared[] __attribute__((weak, visibility("hidden")));
}

extern "C" void cuda_host_add_buffer(const void* start, size_t num_bytes, const char* name);

namespace cuda_host {

__attribute__((visibility("hidden"))) ThreadContext* current;
ThreadContext* current_thread() { return current; }

namespace {

constexpr unsigned kWarp = 32, kAllLanes = ~0u, kMaxThreads = 1024, kMaxDynamicShared = 99 << 10;  // sm_86
constexpr unsigned kFlushDenormals = 0x8040;  // FTZ and DAZ of MXCSR: kernels are compiled with -ftz=true

enum Schedule : unsigned { kInOrder, kReverse, kRandom, kGreedy, kGreedyReverse };

// What cuda_host_launch is given; tests/kernels/cuda_host.py builds the same structure.
struct Launch {
    Index3 grid, block;
    unsigned dynamic_shared_bytes, schedule, is_block_order_reversed, seed;
};

struct Warp {
    unsigned arrived = 0, mask = 0, generation = 0, alive = 0;
    const char* where = "";
    uint64_t values[2][kWarp];
    uint32_t words[2][kMaxWords][kWarp];
    uint64_t tokens[2];
};

struct Block {
    std::vector<std::unique_ptr<Fiber>> fibers;
    std::vector<Warp> warps;
    std::vector<unsigned> thread_order, warp_order;
    Fiber main;
    unsigned num_threads = 0, num_alive = 0, arrived = 0, generation = 0, position = 0;
    uint64_t barrier_tokens[2], start_token, end_token;
    Schedule schedule = kInOrder;
    uint64_t random = 1;
    void (*thunk)(void**) = nullptr;
    void** args = nullptr;
};

Block block;

Fiber& me() { return *static_cast<Fiber*>(current); }

uint64_t next_random() {
    block.random ^= block.random << 13;
    block.random ^= block.random >> 7;
    block.random ^= block.random << 17;
    return block.random;
}

void shuffle_order(std::vector<unsigned>& order) {
    for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[next_random() % (i + 1)]);
}

bool can_run(const Fiber& fiber) {
    if (fiber.is_done) return false;
    if (fiber.wait == Wait::kBlock) return block.generation != fiber.wait_generation;
    if (fiber.wait == Wait::kWarp) return block.warps[fiber.warp].generation != fiber.wait_generation;
    return true;
}

// Round robin over the threads of the block.
Fiber* pick_in_turn() {
    for (unsigned i = 0; i < block.num_threads; ++i) {
        block.position = (block.position + 1) % block.num_threads;
        Fiber& fiber = *block.fibers[block.thread_order[block.position]];
        if (can_run(fiber)) return &fiber;
    }
    return nullptr;
}

Fiber* pick_of_warp(unsigned warp, unsigned first_lane, unsigned direction) {
    for (unsigned i = 1; i <= kWarp; ++i) {
        const unsigned thread = warp * kWarp + ((first_lane + i * direction) & (kWarp - 1));
        if (thread < block.num_threads && can_run(*block.fibers[thread])) return block.fibers[thread].get();
    }
    return nullptr;
}

// One warp goes on until it cannot, then the next one; kRandom draws new orders now and then.
Fiber* pick_greedily() {
    const bool is_start = current == &block.main, is_random = block.schedule == kRandom;
    if (is_random && next_random() % 64 == 0) {
        shuffle_order(block.warp_order);
        block.position = 0;
    } else if (is_start) {
        block.position = 0;
    }
    const unsigned lane = is_random ? next_random() % kWarp : is_start ? kWarp - 1 : current->lane;
    const bool is_forward = is_random ? next_random() % 2 : block.schedule == kGreedy;
    const unsigned num_warps = static_cast<unsigned>(block.warps.size());
    for (unsigned i = 0; i < num_warps; ++i) {
        const unsigned place = (block.position + i) % num_warps;
        Fiber* fiber = pick_of_warp(block.warp_order[place], lane, is_forward ? 1 : kWarp - 1);
        if (fiber) {
            block.position = place;
            return fiber;
        }
    }
    return nullptr;
}

Fiber* pick() {
    const bool in_turn = block.schedule == kInOrder || block.schedule == kReverse;
    return in_turn ? pick_in_turn() : pick_greedily();
}

[[noreturn]] void fail_divergent() {
    unsigned num_done = 0, num_waiting[2] = {0, 0};
    const char* where[2] = {"-", "-"};
    for (unsigned i = 0; i < block.num_threads; ++i) {
        const Fiber& fiber = *block.fibers[i];
        num_done += fiber.is_done;
        if (fiber.is_done) continue;
        const bool in_warp = fiber.wait == Wait::kWarp;
        ++num_waiting[in_warp];
        where[in_warp] = fiber.where;
    }
    const Index3 at = block.fibers[0]->block;
    char text[400];
    snprintf(text, sizeof text,
             "divergent synchronisation in block (%u,%u,%u): %u threads wait at __syncthreads (%s), %u at a warp "
             "operation (%s), %u exited",
             at.x, at.y, at.z, num_waiting[0], where[0], num_waiting[1], where[1], num_done);
    fail(text);
}

[[noreturn]] void fail_at(const std::string& what, const char* where) {
    fail(what + " at " + where + ", " + describe(me()));
}

void run(Fiber& next) {
    Fiber& self = me();
    if (&next == &self) return;
    current = &next;
    switch_fiber(self, next);
}

void yield() {
    Fiber* next = pick();
    if (!next) fail_divergent();
    run(*next);
}

// A fiber's life: one thread of each block in turn.
void fiber_main() {
#if defined(CUDA_HOST_ASAN)
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
    for (;;) {
        acquire(&block.start_token);
        block.thunk(block.args);
        release(&block.end_token);
        Fiber& self = me();
        self.is_done = true;
        self.wait = Wait::kNone;
        --block.num_alive;
        block.warps[self.warp].alive &= ~(1u << self.lane);
        if (block.num_alive && block.arrived == block.num_alive) {  // exited threads no longer count (sm_70 on)
            block.arrived = 0;
            ++block.generation;
        }
        Fiber* next = block.num_alive ? pick() : &block.main;
        if (!next) fail_divergent();
        run(*next);
    }
}

// Lanes of `mask` meet; returns the values of all of them. Only an ordering operation orders memory.
const uint64_t* meet(unsigned mask, uint64_t value, const char* where, bool is_ordering) {
    Fiber& self = me();
    Warp& warp = block.warps[self.warp];
    const unsigned generation = warp.generation, slot = generation & 1;
    if (!(mask >> self.lane & 1)) fail_at("the mask of a warp operation lacks the caller's lane", where);
    if (mask & ~warp.alive) fail_at("the mask of a warp operation names an exited or absent lane", where);
    if (warp.arrived && (warp.mask != mask || warp.where != where)) {
        fail_at(std::string("lanes of one warp are at different warp operations: ") + warp.where + " and", where);
    }
    warp.mask = mask;
    warp.where = where;
    warp.values[slot][self.lane] = value;
    warp.arrived |= 1u << self.lane;
    if (is_ordering) release(&warp.tokens[slot]);
    if (warp.arrived == mask) {
        ++warp.generation;
        warp.arrived = 0;
    }
    self.wait = Wait::kWarp;
    self.wait_generation = generation;
    self.where = where;
    if (warp.generation == generation || block.schedule == kRandom) yield();
    self.wait = Wait::kNone;
    if (is_ordering) acquire(&warp.tokens[slot]);
    return warp.values[slot];
}

void create_fibers(const Launch& launch, unsigned char* dynamic_shared) {
    const Index3 size = launch.block;
    while (block.fibers.size() < block.num_threads) block.fibers.push_back(std::make_unique<Fiber>());
    for (unsigned i = 0; i < block.num_threads; ++i) {
        Fiber& fiber = *block.fibers[i];
        fiber.linear = i;
        fiber.lane = i % kWarp;
        fiber.warp = i / kWarp;
        fiber.thread = {i % size.x, i / size.x % size.y, i / size.x / size.y};
        fiber.block_size = size;
        fiber.grid_size = launch.grid;
        fiber.dynamic_shared = dynamic_shared;
        prepare_stack(fiber, fiber_main);
    }
}

void order_threads() {
    block.thread_order.resize(block.num_threads);
    for (unsigned i = 0; i < block.num_threads; ++i) {
        block.thread_order[i] = block.schedule == kReverse ? block.num_threads - 1 - i : i;
    }
    const unsigned num_warps = (block.num_threads + kWarp - 1) / kWarp;
    block.warps.assign(num_warps, Warp());
    block.warp_order.resize(num_warps);
    for (unsigned i = 0; i < num_warps; ++i) {
        block.warp_order[i] = block.schedule == kGreedyReverse ? num_warps - 1 - i : i;
    }
}

void reset_block(Index3 index) {
    block.num_alive = block.num_threads;
    block.arrived = block.generation = 0;
    block.position = block.num_threads - 1;
    if (block.schedule == kRandom) shuffle_order(block.warp_order);
    for (unsigned i = 0; i < block.num_threads; ++i) {
        Fiber& fiber = *block.fibers[i];
        fiber.block = index;
        fiber.is_done = false;
        fiber.wait = Wait::kNone;
        fiber.copies.clear();
        fiber.copy_group = 0;
    }
    for (unsigned w = 0; w < block.warps.size(); ++w) {
        const unsigned count = std::min(kWarp, block.num_threads - w * kWarp);
        block.warps[w].alive = count == kWarp ? kAllLanes : (1u << count) - 1;
        block.warps[w].arrived = block.warps[w].generation = 0;
    }
}

// Shared memory starts undefined: as NaN, so that reading it shows.
void poison(unsigned char* dynamic_shared, size_t num_bytes) {
#if !defined(CUDA_HOST_ASAN)
    if (__start_cuda_host_shared) {
        memset(__start_cuda_host_shared, 0xFF, static_cast<size_t>(__stop_cuda_host_shared - __start_cuda_host_shared));
    }
#endif
    memset(dynamic_shared, 0xFF, num_bytes);
}

void run_block(Index3 index) {
    reset_block(index);
    release(&block.start_token);
    current = &block.main;
    run(*pick());
    acquire(&block.end_token);
}

void run_grid(const Launch& launch, unsigned char* dynamic_shared) {
    const Index3 grid = launch.grid;
    const unsigned long count = static_cast<unsigned long>(grid.x) * grid.y * grid.z;
    for (unsigned long i = 0; i < count; ++i) {
        const unsigned long n = launch.is_block_order_reversed ? count - 1 - i : i;
        poison(dynamic_shared, launch.dynamic_shared_bytes);
        run_block({static_cast<unsigned>(n % grid.x), static_cast<unsigned>(n / grid.x % grid.y),
                   static_cast<unsigned>(n / grid.x / grid.y)});
    }
}

// Dynamic shared memory that ends at an unreadable page; from malloc where a sanitizer guards it.
class SharedMemory {
public:
    explicit SharedMemory(size_t num_bytes) {
#if defined(CUDA_HOST_ASAN)
        map_ = static_cast<unsigned char*>(malloc(num_bytes ? num_bytes : 1));
        data = map_;
#else
        const size_t pages = (num_bytes + kPage - 1) / kPage * kPage;
        map_bytes_ = pages + kPage;
        map_ = static_cast<unsigned char*>(
            mmap(nullptr, map_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(map_ + pages, kPage, PROT_NONE);
        data = map_ + pages - (num_bytes + 15) / 16 * 16;
#endif
    }
    ~SharedMemory() {
#if defined(CUDA_HOST_ASAN)
        free(map_);
#else
        munmap(map_, map_bytes_);
#endif
    }
    SharedMemory(const SharedMemory&) = delete;
    SharedMemory& operator=(const SharedMemory&) = delete;
    unsigned char* data;

private:
    unsigned char* map_;
    size_t map_bytes_ = 0;
};

void prepare_main_fiber() {
#if defined(CUDA_HOST_TSAN)
    block.main.sanitizer = __tsan_get_current_fiber();
#endif
#if defined(CUDA_HOST_ASAN)
    pthread_attr_t attributes;
    void* stack;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &stack, &block.main.stack_bytes);
    block.main.stack = static_cast<char*>(stack);
    pthread_attr_destroy(&attributes);
#endif
}

bool check(const Launch& launch) {
    error.clear();
    if (!block.num_threads || block.num_threads > kMaxThreads) error = "a block has 1 to 1024 threads";
    if (launch.dynamic_shared_bytes > kMaxDynamicShared) error = "more than 99 KB of dynamic shared memory";
    return error.empty();
}

}  // namespace

void block_barrier(const char* where) {
    Fiber& self = me();
    const unsigned generation = block.generation;
    release(&block.barrier_tokens[generation & 1]);
    if (++block.arrived == block.num_alive) {
        block.arrived = 0;
        ++block.generation;
    }
    self.wait = Wait::kBlock;
    self.wait_generation = generation;
    self.where = where;
    if (block.generation == generation || block.schedule != kInOrder) yield();
    self.wait = Wait::kNone;
    acquire(&block.barrier_tokens[generation & 1]);
}

void warp_barrier(const char* where, unsigned mask) {
    meet(mask == kAllLanes ? block.warps[me().warp].alive : mask, 0, where, true);
}

uint64_t shuffle(const char* where, unsigned mask, uint64_t value, Shuffle mode, int operand, int width) {
    const int lane = static_cast<int>(current->lane), base = lane & ~(width - 1), end = base + width;
    const uint64_t* values = meet(mask, value, where, false);
    int source = lane;
    switch (mode) {
        case Shuffle::kIndex: source = base + (operand & (width - 1)); break;
        case Shuffle::kUp: source = lane - operand < base ? lane : lane - operand; break;
        case Shuffle::kDown: source = lane + operand >= end ? lane : lane + operand; break;
        case Shuffle::kXor: source = (lane ^ operand) >= end ? lane : lane ^ operand; break;
    }
    if (!(mask >> source & 1)) fail_at("a shuffle reads a lane outside its mask", where);
    return values[source];
}

unsigned ballot(const char* where, unsigned mask, int predicate) {
    const uint64_t* values = meet(mask, predicate != 0, where, false);
    unsigned result = 0;
    for (unsigned i = 0; i < kWarp; ++i) {
        if (mask >> i & 1) result |= static_cast<unsigned>(values[i]) << i;
    }
    return result;
}

const uint32_t (*gather(const char* where, const uint32_t* words, unsigned count))[32] {
    Warp& warp = block.warps[me().warp];
    uint32_t(*all)[kWarp] = warp.words[warp.generation & 1];
    for (unsigned i = 0; i < count; ++i) all[i][me().lane] = words[i];
    meet(kAllLanes, 0, where, false);
    return all;
}

void check_alignment(const char* where, const void* address) {
    if (reinterpret_cast<uintptr_t>(address) % 16) fail_at("misaligned access", where);
}

void copy_async(void* destination, const void* source, unsigned num_bytes, unsigned num_zeros) {
    check_alignment("cp.async", destination);
    check_alignment("cp.async", source);
    const AsyncCopy copy = {destination, source, num_bytes, num_zeros, me().copy_group};
    if (block.schedule == kGreedy || block.schedule == kGreedyReverse) copy.run();
    else me().copies.push_back(copy);
}

void commit_copies() { ++me().copy_group; }

void wait_for_copies(unsigned num_groups_left) {
    Fiber& self = me();
    size_t done = 0;
    for (; done < self.copies.size() && self.copies[done].group + num_groups_left < self.copy_group; ++done) {
        self.copies[done].run();
    }
    self.copies.erase(self.copies.begin(), self.copies.begin() + static_cast<long>(done));
}

}  // namespace cuda_host

extern "C" int cuda_host_launch(void (*thunk)(void**), const cuda_host::Launch* launch, void** args) {
    using namespace cuda_host;
    block.thunk = thunk;
    block.args = args;
    block.schedule = static_cast<Schedule>(launch->schedule);
    block.random = launch->seed * 0x9E3779B97F4A7C15ull + 1;
    block.num_threads = launch->block.x * launch->block.y * launch->block.z;
    if (!check(*launch)) return 1;
    const SharedMemory shared(launch->dynamic_shared_bytes);
    cuda_host_add_buffer(shared.data, launch->dynamic_shared_bytes, "dynamic shared memory");
    prepare_main_fiber();
    order_threads();
    create_fibers(*launch, shared.data);
    const FaultHandler handler;
    const unsigned control = _mm_getcsr();
    _mm_setcsr(control | kFlushDenormals);
    if (!sigsetjmp(on_error, 1)) run_grid(*launch, shared.data);
#if defined(CUDA_HOST_TSAN)
    else __tsan_switch_to_fiber(block.main.sanitizer, 0);
#endif
    current = nullptr;
    _mm_setcsr(control);
    return error.empty() ? 0 : 1;
}

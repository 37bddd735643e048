#include "faults.h"

#include <csignal>
#include <cstdio>
#include <vector>

namespace cuda_host {

std::string error;
sigjmp_buf on_error;

namespace {

struct Buffer {
    const char* start;
    size_t num_bytes;
    std::string name;

    long distance(const char* address) const {
        if (address < start) return start - address;
        return address < start + num_bytes ? 0 : address - (start + num_bytes) + 1;
    }
};

constexpr long kFarAway = 1L << 20;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL};

std::vector<Buffer> buffers;
char signal_stack[65536];
struct sigaction previous[3];
stack_t previous_stack;

std::string nearest_buffer(const char* address) {
    const Buffer* nearest = nullptr;
    for (const Buffer& buffer : buffers) {
        if (buffer.distance(address) < (nearest ? nearest->distance(address) : kFarAway)) nearest = &buffer;
    }
    if (!nearest) return "";
    char text[200];
    snprintf(text, sizeof text, "; nearest buffer '%s' of %zu bytes, offset %ld", nearest->name.c_str(),
             nearest->num_bytes, static_cast<long>(address - nearest->start));
    return text;
}

void on_signal(int signal, siginfo_t* info, void*) {
    const char* address = static_cast<const char*>(info->si_addr);
    const Fiber& fiber = *static_cast<Fiber*>(current);
    std::string message = signal == SIGILL ? "misaligned access" : "memory fault";
    message += " by " + describe(fiber);
    if (signal != SIGILL) {
        const bool is_stack = address >= fiber.stack - kPage && address < fiber.stack;
        message += is_stack ? "; the fiber's stack overflowed" : nearest_buffer(address);
    }
    error = message;
    siglongjmp(on_error, 1);
}

}  // namespace

void fail(const std::string& message) {
    error = message;
    siglongjmp(on_error, 1);
}

std::string describe(const Fiber& fiber) {
    char text[160];
    snprintf(text, sizeof text, "block (%u,%u,%u) thread (%u,%u,%u)", fiber.block.x, fiber.block.y, fiber.block.z,
             fiber.thread.x, fiber.thread.y, fiber.thread.z);
    return text;
}

#if defined(CUDA_HOST_ASAN) || defined(CUDA_HOST_TSAN)
FaultHandler::FaultHandler() = default;
FaultHandler::~FaultHandler() = default;
#else
FaultHandler::FaultHandler() {
    stack_t stack{};
    stack.ss_sp = signal_stack;
    stack.ss_size = sizeof signal_stack;
    sigaltstack(&stack, &previous_stack);
    struct sigaction action{};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &action, &previous[i]);
}

FaultHandler::~FaultHandler() {
    for (int i = 0; i < 3; ++i) sigaction(kSignals[i], &previous[i], nullptr);
    sigaltstack(&previous_stack, nullptr);
}
#endif

}  // namespace cuda_host

extern "C" {

const char* cuda_host_error() { return cuda_host::error.c_str(); }

void cuda_host_add_buffer(const void* start, size_t num_bytes, const char* name) {
    cuda_host::buffers.push_back({static_cast<const char*>(start), num_bytes, name});
}

void cuda_host_clear_buffers() { cuda_host::buffers.clear(); }
}

// From a signal to a sentence: which thread touched what, beside which buffer.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <string>

#include "fiber.h"

namespace cuda_host {

extern std::string error;
extern sigjmp_buf on_error;

[[noreturn]] void fail(const std::string& message);
std::string describe(const Fiber& fiber);

// Catches SIGSEGV, SIGBUS and SIGILL (of -fsanitize-undefined-trap-on-error) while it lives; not under a sanitizer,
// which reports them better.
class FaultHandler {
public:
    FaultHandler();
    ~FaultHandler();
    FaultHandler(const FaultHandler&) = delete;
    FaultHandler& operator=(const FaultHandler&) = delete;
};

}  // namespace cuda_host

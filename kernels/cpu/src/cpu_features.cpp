#include "cpu_features.h"

#include <cstdint>

#if defined(DI_X86)
#if defined(_MSC_VER)
#include <intrin.h>
#else
#include <cpuid.h>
#endif
#endif

namespace di {
namespace {

#if defined(DI_X86)

struct Registers {
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(uint32_t leaf, uint32_t subleaf) {
    Registers r;
#if defined(_MSC_VER)
    int values[4];
    __cpuidex(values, static_cast<int>(leaf), static_cast<int>(subleaf));
    r = {static_cast<uint32_t>(values[0]), static_cast<uint32_t>(values[1]), static_cast<uint32_t>(values[2]),
         static_cast<uint32_t>(values[3])};
#else
    __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
#endif
    return r;
}

// Register state that the operating system saves (XCR0).
uint64_t saved_state() {
#if defined(_MSC_VER)
    return _xgetbv(0);
#else
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (static_cast<uint64_t>(high) << 32) | low;
#endif
}

bool has(uint32_t word, int bit) { return (word >> bit) & 1u; }

// Intel's Software Developer's Manual, CPUID: leaf 1 ECX 27 OSXSAVE, 28 AVX, 12 FMA, 29 F16C; leaf 7 EBX 5 AVX2.
bool has_avx2() {
    const Registers one = cpuid(1, 0);
    if (!has(one.ecx, 27) || !has(one.ecx, 28) || !has(one.ecx, 12) || !has(one.ecx, 29)) return false;
    return (saved_state() & 0x6) == 0x6 && has(cpuid(7, 0).ebx, 5);
}

// Leaf 7.1 EAX 4 AVX-VNNI.
bool has_avxvnni() { return has_avx2() && has(cpuid(7, 1).eax, 4); }

// Leaf 7 EBX 16 F, 17 DQ, 30 BW, 31 VL, ECX 11 VNNI; XCR0 bits 5..7 for the mask and wide registers.
bool has_avx512() {
    const Registers seven = cpuid(7, 0);
    const bool sets = has(seven.ebx, 16) && has(seven.ebx, 17) && has(seven.ebx, 30) && has(seven.ebx, 31) &&
                      has(seven.ecx, 11);
    return has_avx2() && sets && (saved_state() & 0xe6) == 0xe6;
}

#endif

}  // namespace

std::vector<const Core*> available_cores() {
    std::vector<const Core*> cores;
#if defined(DI_X86)
    if (has_avx512()) cores.push_back(&core_avx512());
    if (has_avxvnni()) cores.push_back(&core_avxvnni());
    if (has_avx2()) cores.push_back(&core_avx2());
#endif
    cores.push_back(&core_portable());
    return cores;
}

}  // namespace di

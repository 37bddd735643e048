#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <sys/mman.h>
#endif

namespace di {
namespace {

#if defined(__SANITIZE_ADDRESS__)
// The sanitizer sees reads beyond a block of its own allocator, not those within a page or a mapping.
constexpr size_t kArenaBytes = 0;
void* map(size_t bytes) { return std::calloc(bytes, 1); }
void unmap(void* p, size_t) { std::free(p); }
void ask_for_huge_pages(void*, size_t) {}
#elif defined(_WIN32)
constexpr size_t kArenaBytes = 0;  // what is mapped counts as used
void* map(size_t bytes) { return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE); }
void unmap(void* p, size_t) { VirtualFree(p, 0, MEM_RELEASE); }
void ask_for_huge_pages(void*, size_t) {}  // Windows gives them to privileged processes alone
#else
constexpr size_t kArenaBytes = size_t{1} << 27;
void* map(size_t bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? nullptr : p;
}
void unmap(void* p, size_t bytes) { munmap(p, bytes); }
void ask_for_huge_pages(void* p, size_t bytes) {
#if defined(MADV_HUGEPAGE)
    madvise(p, bytes, MADV_HUGEPAGE);  // a wish: where it is not granted, all works the same
#else
    (void)p, (void)bytes;
#endif
}
#endif

}  // namespace

void* allocate_pages(size_t bytes) {
    void* p = map(bytes);
    if (!p) throw std::bad_alloc();
    return p;
}

void PagesDelete::operator()(void* p) const { unmap(p, bytes); }

std::shared_ptr<uint8_t> PageArena::cut(size_t bytes) {
    const size_t whole = (bytes + 63) / 64 * 64;
    std::shared_ptr<uint8_t> mapping = mapping_.lock();
    if (!mapping || whole > size_ - used_) {
        const size_t size = std::max({whole, kArenaBytes, size_t{1}});
        PageArray<uint8_t> pages = page_array<uint8_t>(size);
        ask_for_huge_pages(pages.get(), size);
        mapping_ = mapping = std::shared_ptr<uint8_t>(pages.release(), pages.get_deleter());
        size_ = size;
        used_ = 0;
    }
    std::shared_ptr<uint8_t> part(mapping, mapping.get() + used_);
    used_ += whole;
    return part;
}

}  // namespace di

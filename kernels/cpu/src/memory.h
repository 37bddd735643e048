// Arrays straight from the operating system: zeroed, page-aligned, and given back the moment they are freed.
//
// malloc would keep blocks of this size for the next load once one of them was freed (glibc raises its threshold), so
// that closing a model would not make the process smaller.
#pragma once

#include <cstddef>
#include <memory>

namespace di {

// Huge ones are for what is filled from end to end: a fault for 2 MiB at a time halves a model's load time.
enum class Pages { kSmall, kHuge };

void* allocate_pages(size_t bytes, Pages pages);  // throws std::bad_alloc

struct PagesDelete {
    size_t bytes = 0;
    void operator()(void* p) const;
};

template <typename T>
using PageArray = std::unique_ptr<T[], PagesDelete>;

template <typename T>
PageArray<T> page_array(size_t count, Pages pages = Pages::kSmall) {
    const size_t bytes = count * sizeof(T) + (count == 0);
    return PageArray<T>(static_cast<T*>(allocate_pages(bytes, pages)), PagesDelete{bytes});
}

}  // namespace di

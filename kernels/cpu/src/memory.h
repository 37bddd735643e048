// Arrays straight from the operating system: zeroed, page-aligned, and given back the moment they are freed.
//
// malloc would keep blocks of this size for the next load once one of them was freed (glibc raises its threshold), so
// that closing a model would not make the process smaller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace di {

void* allocate_pages(size_t bytes);  // throws std::bad_alloc

struct PagesDelete {
    size_t bytes = 0;
    void operator()(void* p) const;
};

template <typename T>
using PageArray = std::unique_ptr<T[], PagesDelete>;

template <typename T>
PageArray<T> page_array(size_t count) {
    const size_t bytes = count * sizeof(T) + (count == 0);
    return PageArray<T>(static_cast<T*>(allocate_pages(bytes)), PagesDelete{bytes});
}

// Zeroed bytes in huge pages, for what is filled from end to end: a fault for 2 MiB at a time halves a model's load time.
// They are cut from few large mappings, since a mapping for each matrix would lie in small pages at both ends, which is
// half of a model of 1B. A mapping lives as long as something cut from it. For one thread.
class PageArena {
  public:
    std::shared_ptr<uint8_t> cut(size_t bytes);  // aligned to 64 bytes; throws std::bad_alloc

  private:
    std::weak_ptr<uint8_t> mapping_;
    size_t size_ = 0, used_ = 0;
};

}  // namespace di

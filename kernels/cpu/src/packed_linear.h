// A weight matrix that owns its tiles.
#pragma once

#include <memory>
#include <vector>

#include "api.h"
#include "thread_pool.h"
#include "tiles.h"

namespace di {

// 64-byte aligned, zeroed memory.
struct AlignedDelete {
    void operator()(void* p) const;
};
template <typename T>
using AlignedArray = std::unique_ptr<T[], AlignedDelete>;

void* allocate_zeroed(size_t bytes);  // throws std::bad_alloc

template <typename T>
AlignedArray<T> aligned_array(size_t count) {
    return AlignedArray<T>(static_cast<T*>(allocate_zeroed(count * sizeof(T))));
}

class PackedLinear {
  public:
    // Copies everything `source` points to into tiles. Throws std::invalid_argument for what the kernels cannot run.
    PackedLinear(const di_linear_source& source, ThreadPool& pool);

    const Tiles& tiles() const { return tiles_; }
    size_t num_bytes() const;

  private:
    void plan(const di_linear_source& source);
    void pack_tile(const di_linear_source& source, int32_t tile);

    Tiles tiles_;
    AlignedArray<uint8_t> data_;
    AlignedArray<float> bias_;
    std::vector<int32_t> perm_;
};

}  // namespace di

struct di_linear {
    di::PackedLinear packed;
};

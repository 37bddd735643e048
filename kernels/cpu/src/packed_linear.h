// A weight matrix that owns its tiles.
#pragma once

#include <memory>
#include <vector>

#include "api.h"
#include "core.h"
#include "memory.h"
#include "thread_pool.h"
#include "tiles.h"

namespace di {

struct TileSource;

class PackedLinear {
  public:
    // Copies everything `source` points to into tiles. Throws std::invalid_argument for what the kernels cannot run.
    PackedLinear(const di_linear_source& source, const Core& core, ThreadPool& pool, PageArena& arena);

    const Tiles& tiles() const { return tiles_; }
    size_t num_bytes() const;

  private:
    void plan(const di_linear_source& source, ThreadPool& pool);
    BlockLayout layout(int32_t columns) const;
    void pack_tile(const Core& core, const di_linear_source& source, int32_t tile);
    void pack_scales(const TileSource& from, int32_t begin, const Block& block, uint8_t* values) const;

    Tiles tiles_;
    std::shared_ptr<uint8_t> data_;
    PageArray<float> bias_;
    std::vector<int32_t> perm_;
};

}  // namespace di

struct di_linear {
    di::PackedLinear packed;
};

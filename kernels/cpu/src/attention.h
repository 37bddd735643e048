// Shares the attention of a step out among the threads.
#pragma once

#include <vector>

#include "kv_cache.h"
#include "runner.h"

namespace di {

// What the rows of a step ask of one layer's cache, to which their own keys and values belong already.
struct AttentionStep {
    int32_t rows, layer;
    const int32_t *slots, *positions;  // [rows]; rows of one slot stand together
    const float* scales;               // [rows], of the scores
    float softcap;                     // as in AttentionTask
    const float* sinks;                // [num_heads] or null
    int32_t sliding_window;            // as in AttentionTask
};

class Attention {
  public:
    Attention(Runner& runner, const KVCache& cache, int32_t num_heads, int32_t num_kv_heads);

    // q: rows of [num_heads][head_dim], or of the cache's rows of latent vectors; out: rows of [num_heads][value_dim].
    void run(const AttentionStep& step, const Activations& q, Activations& out);
    size_t num_bytes() const { return partials_.size() * sizeof(float); }

  private:
    // Rows of one slot.
    struct Piece {
        int32_t first_row, num_rows;
    };

    void cut(const AttentionStep& step, int32_t max_rows);
    AttentionTask task_of(const AttentionStep& step, const Piece& piece, int32_t unit, const Activations& q, Activations& out) const;
    void run_pieces(const AttentionStep& step, const Activations& q, Activations& out);
    void run_pages(const AttentionStep& step, const Activations& q, Activations& out);

    Runner& runner_;
    const KVCache& cache_;
    int32_t group_;  // query heads per kv head
    int32_t units_per_kv_head_, num_units_;
    std::vector<Piece> pieces_;
    std::vector<int32_t> items_;   // of each piece the first of its (unit, page) pairs
    std::vector<float> partials_;  // [item][query][partial_stride]
};

}  // namespace di

#include "attention.h"

#include <algorithm>

namespace di {
namespace {

constexpr int32_t kMaxUnitHeads = 16;    // query heads of a kv head that one task takes
constexpr int32_t kMaxTaskQueries = 48;  // enough to read a page from the cache nearest to the core

int32_t num_pages(const AttentionTask& task) {
    return task.positions[task.num_rows - 1] / kPageTokens + 1 - first_page(task);
}

}  // namespace

Attention::Attention(Runner& runner, const KVCache& cache, int32_t num_heads, int32_t num_kv_heads)
    : runner_(runner),
      cache_(cache),
      group_(num_heads / num_kv_heads),
      units_per_kv_head_((group_ + kMaxUnitHeads - 1) / kMaxUnitHeads),
      num_units_(num_kv_heads * units_per_kv_head_) {}

void Attention::run(const AttentionStep& step, const Activations& q, Activations& out) {
    const int32_t wanted = runner_.pool.num_threads() * kTasksPerThread, tasks = step.rows * num_units_;
    const int32_t fitting = kMaxTaskQueries / std::min(group_, kMaxUnitHeads);
    const bool has_pages = *std::max_element(step.positions, step.positions + step.rows) >= kPageTokens;
    if (tasks < wanted && has_pages) {
        cut(step, 1);
        run_pages(step, q, out);
    } else {
        cut(step, std::min(std::max(tasks / wanted, 1), fitting));
        run_pieces(step, q, out);
    }
}

void Attention::cut(const AttentionStep& step, int32_t max_rows) {
    pieces_.clear();
    for (int32_t r = 0; r < step.rows; ++r) {
        const bool joins = r > 0 && step.slots[r] == step.slots[r - 1] && pieces_.back().num_rows < max_rows;
        joins ? void(++pieces_.back().num_rows) : pieces_.push_back({r, 1});
    }
}

AttentionTask Attention::task_of(const AttentionStep& step, const Piece& piece, int32_t unit, const Activations& q,
                                 Activations& out) const {
    const int32_t kv_head = unit / units_per_kv_head_, first = unit % units_per_kv_head_ * kMaxUnitHeads;
    const int32_t head = kv_head * group_ + first;
    AttentionTask task;
    task.head_dim = cache_.is_latent() ? cache_.value_stride() : cache_.head_dim();
    task.q = q.row(piece.first_row) + static_cast<size_t>(head) * task.head_dim;
    task.out = out.row(piece.first_row) + static_cast<size_t>(head) * cache_.value_dim();
    task.stride = q.stride;
    task.out_stride = out.stride;
    task.positions = step.positions + piece.first_row;
    task.scales = step.scales + piece.first_row;
    task.pages = cache_.pages(step.slots[piece.first_row], step.layer, kv_head);
    task.num_rows = piece.num_rows;
    task.num_heads = std::min(kMaxUnitHeads, group_ - first);
    task.value_dim = cache_.value_dim();
    task.value_stride = cache_.value_stride();
    task.is_latent = cache_.is_latent();
    task.sliding_window = step.sliding_window;
    task.softcap = step.softcap;
    task.sinks = step.sinks ? step.sinks + head : nullptr;
    task.type = cache_.type();
    return task;
}

// Many rows: a task takes some of them through all pages.
void Attention::run_pieces(const AttentionStep& step, const Activations& q, Activations& out) {
    const Core& core = runner_.core;
    runner_.pool.parallel_for(static_cast<int32_t>(pieces_.size()) * num_units_, [&](int32_t n) {
        const AttentionTask task = task_of(step, pieces_[static_cast<size_t>(n / num_units_)], n % num_units_, q, out);
        alignas(64) float partials[2][kMaxTaskQueries * partial_stride(kMaxHeadDim)];
        const int32_t first = first_page(task), pages = num_pages(task);
        core.attend_page(task, first, partials[0]);
        for (int32_t page = 1; page < pages; ++page) {
            core.attend_page(task, first + page, partials[1]);
            core.merge_page(task, partials[1], partials[0]);
        }
        core.finish_attention(task, partials[0]);
    });
}

// Few rows have too few heads to occupy all threads: their pages are shared out, too.
void Attention::run_pages(const AttentionStep& step, const Activations& q, Activations& out) {
    const Core& core = runner_.core;
    items_.assign(1, 0);
    for (const Piece& piece : pieces_) items_.push_back(items_.back() + num_units_ * num_pages(task_of(step, piece, 0, q, out)));
    const size_t stride = static_cast<size_t>(std::min(group_, kMaxUnitHeads)) * partial_stride(cache_.value_dim());
    if (partials_.size() < items_.back() * stride) partials_.resize(items_.back() * stride);
    runner_.pool.parallel_for(items_.back(), [&](int32_t n) {
        const size_t p = static_cast<size_t>(std::upper_bound(items_.begin(), items_.end(), n) - items_.begin() - 1);
        const int32_t pages = (items_[p + 1] - items_[p]) / num_units_, local = n - items_[p];
        const AttentionTask task = task_of(step, pieces_[p], local / pages, q, out);
        core.attend_page(task, first_page(task) + local % pages, &partials_[n * stride]);
    });
    runner_.pool.parallel_for(static_cast<int32_t>(pieces_.size()) * num_units_, [&](int32_t n) {
        const size_t p = static_cast<size_t>(n / num_units_);
        const AttentionTask task = task_of(step, pieces_[p], n % num_units_, q, out);
        const int32_t pages = num_pages(task);
        float* partials = &partials_[static_cast<size_t>(items_[p] + n % num_units_ * pages) * stride];
        for (int32_t page = 1; page < pages; ++page) core.merge_page(task, partials + page * stride, partials);
        core.finish_attention(task, partials);
    });
}

}  // namespace di

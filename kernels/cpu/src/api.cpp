#include "api.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cpu_features.h"
#include "cuda_tiles.h"
#include "model.h"
#include "sampling.h"

struct di_context {
    const di::Core& core;
    di::ThreadPool pool;
    di::PageArena weights{};
};

struct di_model {
    di::Model model;
};

namespace {

thread_local std::string last_error;

// No exception may cross the C interface.
template <typename F>
auto guarded(F&& body, decltype(body()) on_failure) -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        last_error = "out of memory";
    } catch (const std::exception& error) {
        last_error = error.what();
    }
    return on_failure;
}

template <typename F>
int32_t code_of(F&& body) {
    return guarded([&] { return body(), 0; }, 1);
}

const di::Core& find_core(const char* name) {
    static const std::vector<const di::Core*> cores = di::available_cores();  // asking the machine takes microseconds
    const std::string wanted = name ? name : "";
    for (const di::Core* core : cores) {
        if (wanted.empty() || wanted == core->name) return *core;
    }
    throw std::invalid_argument("this machine cannot run the instruction set '" + wanted + "'");
}

std::string joined_names() {
    std::string names;
    for (const di::Core* core : di::available_cores()) names += (names.empty() ? "" : ",") + std::string(core->name);
    return names;
}

// Rows of any stride into padded rows with their sums, up to kMaxStepRows at a time.
void apply(di_context& context, const di::Tiles& w, const float* x, int32_t rows, bool int8, float* y) {
    di::Activations padded(w.in_features);
    for (int32_t r = 0; r < rows; ++r) {
        for (int32_t c = 0; c < w.in_features; ++c) padded.row(r)[c] = x[int64_t{r} * w.in_features + (w.perm ? w.perm[c] : c)];
    }
    const di::Input input = padded.prepare(context.core, context.pool, rows, w.padded_in, int8);
    const di::Product product{&w, &input, y, w.out_features, nullptr};
    context.pool.parallel_for(w.num_tiles, [&](int32_t tile) { context.core.linear(product, tile, tile + 1); });
}

void check_groups(int32_t group_size, int32_t bits) {
    const bool fits = group_size > 0 && group_size <= di::kMaxGroupSize && group_size % 16 == 0;
    if (!fits || (bits != 3 && bits != 4 && bits != 8)) throw std::invalid_argument("no such groups or bits");
}

uint32_t read_all(di_context& context, const uint8_t* data, int64_t num_bytes) {
    constexpr int64_t kTaskBytes = 1 << 20;
    if (num_bytes < 0 || num_bytes % 256 != 0) throw std::invalid_argument("memory is read in blocks of 256 bytes");
    std::atomic<uint32_t> words{0};
    context.pool.parallel_for(static_cast<int32_t>((num_bytes + kTaskBytes - 1) / kTaskBytes), [&](int32_t task) {
        const int64_t begin = task * kTaskBytes, length = std::min(kTaskBytes, num_bytes - begin);
        words |= context.core.read_blocks(data + begin, static_cast<size_t>(length / 256));
    });
    return words;
}

}  // namespace

int32_t di_abi_version(void) { return DI_ABI_VERSION; }

const char* di_last_error(void) { return last_error.c_str(); }

const char* di_instruction_sets(void) {
    static const std::string names = joined_names();
    return names.c_str();
}

di_context* di_context_create(const char* instruction_set, int32_t num_threads) {
    return guarded([&] { return new di_context{find_core(instruction_set), di::ThreadPool(num_threads)}; }, nullptr);
}

const char* di_context_instruction_set(const di_context* context) { return context->core.name; }

void di_context_destroy(di_context* context) { delete context; }

int32_t di_context_read(di_context* context, const void* data, int64_t num_bytes, uint32_t* words) {
    return code_of([&] {
        *words = read_all(*context, static_cast<const uint8_t*>(data), num_bytes);
    });
}

di_linear* di_linear_create(di_context* context, const di_linear_source* source) {
    return guarded([&] { return new di_linear{di::PackedLinear(*source, context->core, context->pool, context->weights)}; }, nullptr);
}

int64_t di_linear_bytes(const di_linear* linear) { return static_cast<int64_t>(linear->packed.num_bytes()); }

int32_t di_linear_apply(di_context* context, const di_linear* linear, const float* x, int32_t rows,
                        int32_t int8_activations, float* y) {
    return code_of([&] {
        const di::Tiles& w = linear->packed.tiles();
        for (int32_t r = 0; r < rows; r += di::kMaxStepRows) {
            const int32_t piece = rows - r < di::kMaxStepRows ? rows - r : di::kMaxStepRows;
            apply(*context, w, x + int64_t{r} * w.in_features, piece, int8_activations != 0,
                  y + int64_t{r} * w.out_features);
        }
    });
}

int32_t di_linear_row(di_context* context, const di_linear* linear, int32_t row, float* out) {
    return code_of([&] {
        const di::Tiles& w = linear->packed.tiles();
        if (row < 0 || row >= w.out_features) throw std::invalid_argument("the row does not exist");
        const auto padded = di::page_array<float>(static_cast<size_t>(w.padded_in));
        context->core.decode_row(w, row, padded.get());
        std::memcpy(out, padded.get(), sizeof(float) * static_cast<size_t>(w.in_features));
    });
}

void di_linear_destroy(di_linear* linear) { delete linear; }

int32_t di_search_scales(const char* instruction_set, const float* weights, int64_t num_groups, int32_t group_size,
                         int32_t bits, const float* levels, int32_t num_levels, const float* source_scales,
                         float* scales) {
    return code_of([&] {
        check_groups(group_size, bits);
        const di::ScaleSearch search{weights, group_size, bits, levels, num_levels, source_scales};
        find_core(instruction_set).search_scales(search, num_groups, scales);
    });
}

int32_t di_round_to_grid(const char* instruction_set, const float* weights, const float* scales, int64_t num_groups,
                         int32_t group_size, int32_t bits, int8_t* codes, float* decoded) {
    return code_of([&] {
        check_groups(group_size, bits);
        find_core(instruction_set).round_to_grid({weights, scales, group_size, bits}, num_groups, codes, decoded);
    });
}

int32_t di_unpack_blocks(const char* instruction_set, const char* type, const uint8_t* blocks, int64_t num_blocks,
                         int32_t block_bytes, int32_t packed_bytes, uint8_t* packed) {
    return guarded(
        [&] {
            const di::Blocks all{type, blocks, num_blocks, block_bytes, packed_bytes};
            if (find_core(instruction_set).unpack_blocks(all, packed)) return 0;
            throw std::invalid_argument("no such type of blocks");
        },
        1);
}

int32_t di_pack_cuda_tiles(const uint8_t* rows, int64_t num_rows, int64_t row_bytes, int32_t num_columns, int32_t bits,
                           int32_t is_signed, uint8_t* tiles) {
    return code_of([&] { di::pack_cuda_tiles({rows, num_rows, row_bytes, num_columns, bits, is_signed != 0}, tiles); });
}

di_model* di_model_create(di_context* context, const di_config* config, const di_layer* layers, di_linear* embed_tokens,
                          const di_norm* norm, di_linear* lm_head) {
    return guarded(
        [&] { return new di_model{di::Model(context->core, context->pool, *config, layers, embed_tokens, *norm, lm_head)}; },
        nullptr);
}

int32_t di_model_forward(di_model* model, int32_t rows, const int32_t* token_ids, const int32_t* slots,
                         const int32_t* positions, const uint8_t* wanted, float* logits) {
    return code_of([&] { model->model.forward(rows, token_ids, slots, positions, wanted, logits); });
}

int32_t di_sample(float* logits, int32_t vocab_size, const di_sampling* sampling) {
    return guarded([&] { return di::TokenSampler().sample(logits, vocab_size, *sampling); }, -1);
}

int32_t di_model_sample(di_model* model, int32_t rows, const int32_t* token_ids, const int32_t* slots,
                        const int32_t* positions, const di_sampling* const* samplings, int32_t* sampled) {
    return code_of([&] { model->model.sample(rows, token_ids, slots, positions, samplings, sampled); });
}

int32_t di_model_map(di_model* model, int32_t slot, const int32_t* pages, int32_t num_pages) {
    return code_of([&] { model->model.cache().map(slot, pages, num_pages); });
}

int64_t di_model_page_bytes(const di_model* model) { return static_cast<int64_t>(model->model.cache().page_bytes()); }

int32_t di_model_copy_page(di_model* model, int32_t source, int32_t target) {
    return code_of([&] { model->model.cache().copy_page(source, target); });
}

int32_t di_model_read_page(di_model* model, int32_t page, uint8_t* out) {
    return code_of([&] { model->model.cache().read_page(page, out); });
}

int32_t di_model_write_page(di_model* model, int32_t page, const uint8_t* data) {
    return code_of([&] { model->model.cache().write_page(page, data); });
}

int64_t di_model_state_bytes(const di_model* model) { return static_cast<int64_t>(model->model.states().slot_bytes()); }

int32_t di_model_read_state(const di_model* model, int32_t slot, uint8_t* out) {
    return code_of([&] { model->model.states().read(slot, out); });
}

int32_t di_model_write_state(di_model* model, int32_t slot, const uint8_t* data) {
    return code_of([&] { model->model.states().write(slot, data); });
}

int64_t di_model_kv_bytes(const di_model* model) { return static_cast<int64_t>(model->model.kv_bytes()); }

int64_t di_model_workspace_bytes(const di_model* model) { return static_cast<int64_t>(model->model.workspace_bytes()); }

void di_model_destroy(di_model* model) { delete model; }

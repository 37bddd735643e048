// Between the q, k and v projections of a chunk and its attention: heads normed, turned, keys and values in the cache.
// One warp a head; grid (rows, query heads + 2 * key/value heads). Macros: HEAD_DIM, INT8_KV 0 or 1.
#include "heads.cuh"

struct RopeArgs {
    HeadArgs heads;
    half* queries;         // [rows][num_heads * HEAD_DIM], as attention reads them
    const int* slots;      // [rows]
    const int* positions;  // [rows]
    KvCache cache;
};

extern "C" __global__ void __launch_bounds__(kWarp) rotate_and_store(const RopeArgs args) {
    const HeadArgs& heads = args.heads;
    const int row = blockIdx.x, position = args.positions[row];
    int index = blockIdx.y;
    if (index < heads.num_heads) {
        half* to = args.queries + (static_cast<size_t>(row) * heads.num_heads + index) * HEAD_DIM;
        store_query(heads, query_head(heads, row, index), position, to);
        return;
    }
    index -= heads.num_heads;
    const bool is_key = index < heads.num_kv_heads;
    if (!is_key) index -= heads.num_kv_heads;
    const size_t at = cache_row(args.cache, args.slots[row], index, position);
    store_cached(heads, is_key ? key_head(heads, row, index) : value_head(heads, row, index), position,
                 is_key ? args.cache.keys : args.cache.values,
                 is_key ? args.cache.key_scales : args.cache.value_scales, at, true);
}

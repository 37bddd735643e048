#include "mlp_block.h"

namespace di {

MlpBlock::MlpBlock(Runner& runner, const di_config& config)
    : runner_(runner), gate_(config.intermediate_size), up_(config.intermediate_size) {}

void MlpBlock::run(int32_t rows, const Layer& layer, Activations& normed, Activations& hidden) {
    const Core& core = runner_.core;
    const Input plain = runner_.prepare(normed, rows);
    const Input in_gate = runner_.input_of(*layer.gate, normed, plain, 0);
    const Input in_up = runner_.input_of(*layer.up, normed, plain, 1);
    const Product gate{layer.gate, &in_gate, gate_.x.get(), gate_.stride, nullptr};
    const Product up{layer.up, &in_up, up_.x.get(), up_.stride, nullptr};
    runner_.for_tiles(layer.gate->num_tiles, [&](int32_t begin, int32_t end) {
        core.linear(gate, begin, end);
        core.linear(up, begin, end);
        for (int32_t r = 0; r < rows; ++r) {
            core.silu_mul(gate_.row(r) + begin * kTileRows, up_.row(r) + begin * kTileRows, (end - begin) * kTileRows);
        }
    });
    const Input in_down = runner_.input_of(*layer.down, gate_, runner_.prepare(gate_, rows), 0);
    const Product down{layer.down, &in_down, hidden.x.get(), hidden.stride, hidden.x.get()};
    runner_.run_products(&down, 1);
}

}  // namespace di

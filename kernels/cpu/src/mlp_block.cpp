#include "mlp_block.h"

namespace di {

MlpBlock::MlpBlock(Runner& runner, HiddenAct act, int32_t intermediate_size)
    : runner_(runner), act_(act), gate_(intermediate_size), up_(intermediate_size) {}

void MlpBlock::run(const Mlp& mlp, const Activations& source, const Input& plain, Activations& out, bool add) {
    const Core& core = runner_.core;
    const Tiles& first = mlp.gate ? *mlp.gate : *mlp.up;
    const Input in_gate = runner_.input_of(first, source, plain, 0);
    const Input in_up = mlp.gate ? runner_.input_of(*mlp.up, source, plain, 1) : in_gate;
    const Product gate{&first, &in_gate, gate_.x.get(), gate_.stride, nullptr};
    const Product up{mlp.up, &in_up, up_.x.get(), up_.stride, nullptr};
    runner_.for_tiles(first.num_tiles, [&](int32_t begin, int32_t end) {
        core.linear(gate, begin, end);
        if (mlp.gate) core.linear(up, begin, end);
        const int32_t at = begin * kTileRows, n = (end - begin) * kTileRows;
        for (int32_t r = 0; r < plain.rows; ++r) core.activate(act_, gate_.row(r) + at, mlp.gate ? up_.row(r) + at : nullptr, n);
    });
    const Input in_down = runner_.input_of(*mlp.down, gate_, runner_.prepare(gate_, plain.rows), 0);
    const Product down{mlp.down, &in_down, out.x.get(), out.stride, add ? out.x.get() : nullptr};
    runner_.run_products(&down, 1);
}

}  // namespace di

#include "delta_net.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "rounded_math.h"

namespace di {
namespace {

constexpr float kLengthEps = 1e-6f;  // inside the root, as in transformers' l2norm

int32_t channels(const di_delta_net& c) { return 2 * c.num_key_heads * c.key_head_dim + c.num_value_heads * c.value_head_dim; }

// ln(1 + e^x), by x itself where float32 knows no difference.
float softplus(float x) { return x > 20.0f ? x : rounded_log1p(rounded_exp(x)); }
float sigmoid(float x) { return 1.0f / (1.0f + rounded_exp(-x)); }

}  // namespace

DeltaStates::DeltaStates(const di_delta_net& config, int32_t num_layers, int32_t num_slots)
    : value_stride_(round_up(config.value_head_dim, kTileRows)),
      window_size_(num_layers > 0 ? static_cast<size_t>(channels(config)) * (config.conv_kernel - 1) : 0),
      matrix_size_(static_cast<size_t>(config.key_head_dim) * value_stride_),
      layer_size_(window_size_ + matrix_size_ * config.num_value_heads),
      num_layers_(static_cast<size_t>(num_layers)),
      num_slots_(static_cast<size_t>(num_slots)),
      data_(page_array<float>(layer_size_ * num_layers_ * num_slots_)) {}

void DeltaStates::read(int32_t slot, uint8_t* out) const {
    require(slot >= 0 && static_cast<size_t>(slot) < num_slots_, "a slot does not exist");
    std::memcpy(out, state(slot, 0), slot_bytes());
}

void DeltaStates::write(int32_t slot, const uint8_t* data) {
    require(slot >= 0 && static_cast<size_t>(slot) < num_slots_, "a slot does not exist");
    std::memcpy(state(slot, 0), data, slot_bytes());
}

DeltaNetBlock::DeltaNetBlock(Runner& runner, const di_config& config, int32_t num_layers)
    : runner_(runner),
      config_(config.delta_net),
      eps_(config.rms_norm_eps),
      num_channels_(channels(config_)),
      key_size_(config_.num_key_heads * config_.key_head_dim),
      states_(config_, num_layers, config.num_slots),
      qkv_(num_channels_),
      z_(config_.num_value_heads * config_.value_head_dim),
      b_(config_.num_value_heads),
      a_(config_.num_value_heads),
      mixed_(z_.width) {}

size_t DeltaNetBlock::workspace_bytes() const {
    size_t bytes = 0;
    for (const Activations* a : {&qkv_, &z_, &b_, &a_, &mixed_}) bytes += a->num_bytes();
    return bytes;
}

void DeltaNetBlock::run(const Batch& batch, const Layer& layer, int32_t index, const Activations& source,
                        const Input& plain, Activations& out, bool add) {
    const DeltaNet& net = layer.delta_net;
    project(net, source, plain);
    const int32_t parts = 2 * config_.num_key_heads + config_.num_value_heads;
    runner_.pool.parallel_for(parts, [&](int32_t part) { convolve_heads(batch, net, index, part); });
    runner_.pool.parallel_for(config_.num_value_heads, [&](int32_t head) { mix_head(batch, net, index, head); });
    const Input in_out = runner_.input_of(*net.out, z_, runner_.prepare(z_, batch.rows), 0);
    const Product product{net.out, &in_out, out.x.get(), out.stride, add ? out.x.get() : nullptr};
    runner_.run_products(&product, 1);
}

void DeltaNetBlock::project(const DeltaNet& net, const Activations& source, const Input& plain) {
    const Input in_qkv = runner_.input_of(*net.qkv, source, plain, 0), in_z = runner_.input_of(*net.z, source, plain, 1);
    const Input in_b = runner_.input_of(*net.b, source, plain, 2), in_a = runner_.input_of(*net.a, source, plain, 3);
    const Product products[] = {{net.qkv, &in_qkv, qkv_.x.get(), qkv_.stride, nullptr},
                                {net.z, &in_z, z_.x.get(), z_.stride, nullptr},
                                {net.b, &in_b, b_.x.get(), b_.stride, nullptr},
                                {net.a, &in_a, a_.x.get(), a_.stride, nullptr}};
    runner_.run_products(products, 4);
}

// Part p is a head of the queries, then of the keys, then of the values.
void DeltaNetBlock::convolve_heads(const Batch& batch, const DeltaNet& net, int32_t index, int32_t part) {
    const int32_t key_parts = 2 * config_.num_key_heads, width = config_.key_head_dim;
    if (part >= key_parts) {
        const int32_t channel = 2 * key_size_ + (part - key_parts) * config_.value_head_dim;
        return convolve_head(batch, net, index, channel, config_.value_head_dim, 0.0f);
    }
    const float length = part < config_.num_key_heads ? 1.0f / std::sqrt(static_cast<float>(width)) : 1.0f;
    convolve_head(batch, net, index, part * width, width, length);
}

// `length`: what heads of queries and keys are brought to; 0 leaves values as they are.
void DeltaNetBlock::convolve_head(const Batch& batch, const DeltaNet& net, int32_t index, int32_t channel, int32_t width,
                                  float length) {
    const int32_t taps = config_.conv_kernel;
    for (int32_t r = 0; r < batch.rows; ++r) {
        float *x = qkv_.row(r) + channel, *window = states_.window(batch.slots[r], index) + channel;
        for (int32_t tap = 0; batch.positions[r] == 0 && tap + 1 < taps; ++tap) {
            std::fill_n(window + static_cast<size_t>(tap) * num_channels_, width, 0.0f);
        }
        runner_.core.convolve(x, window, net.kernel.data() + channel, taps, num_channels_, width);
        if (length != 0.0f) runner_.core.normalize_length(x, kLengthEps, length, width);
    }
}

void DeltaNetBlock::mix_head(const Batch& batch, const DeltaNet& net, int32_t index, int32_t head) {
    const int32_t key_dim = config_.key_head_dim, value_dim = config_.value_head_dim;
    const int32_t key_at = head / (config_.num_value_heads / config_.num_key_heads) * key_dim;
    for (int32_t r = 0; r < batch.rows; ++r) {
        float *state = states_.matrix(batch.slots[r], index, head), *mixed = mixed_.row(r) + head * value_dim;
        if (batch.positions[r] == 0) std::fill_n(state, states_.matrix_size(), 0.0f);
        const float* qkv = qkv_.row(r);
        const size_t h = static_cast<size_t>(head);
        const float step = softplus(a_.row(r)[head] + net.dt_bias[h]);
        runner_.core.delta_step({state, qkv + key_at, qkv + key_size_ + key_at, qkv + 2 * key_size_ + head * value_dim, mixed,
                                 rounded_exp(-net.decay[h] * step), sigmoid(b_.row(r)[head]), key_dim, value_dim,
                                 states_.value_stride()});
        runner_.core.rms_norm(mixed, net.norm.data(), eps_, value_dim, mixed);
        runner_.core.activate(HiddenAct::kSilu, z_.row(r) + head * value_dim, mixed, value_dim);
    }
}

}  // namespace di

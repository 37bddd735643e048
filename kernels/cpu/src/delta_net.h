// Gated delta net of one step: projections, convolution, recurrence, and the gate of what it gives.
#pragma once

#include "attention_block.h"
#include "layer.h"
#include "memory.h"
#include "runner.h"

namespace di {

// What all linear layers remember of every slot, float32, from a sequence's first token on: nothing grows.
class DeltaStates {
  public:
    DeltaStates(const di_delta_net& config, int32_t num_layers, int32_t num_slots);

    float* window(int32_t slot, int32_t layer) const { return state(slot, layer); }  // [taps - 1][channels]
    float* matrix(int32_t slot, int32_t layer, int32_t head) const {  // key_dim * value_stride, in blocks (core_delta.h)
        return state(slot, layer) + window_size_ + matrix_size_ * static_cast<size_t>(head);
    }
    size_t matrix_size() const { return matrix_size_; }
    int32_t value_stride() const { return value_stride_; }
    size_t num_bytes() const { return slot_bytes() * num_slots_; }
    size_t slot_bytes() const { return layer_size_ * num_layers_ * sizeof(float); }
    // Everything of a slot, as bytes; both throw std::invalid_argument for one that does not exist.
    void read(int32_t slot, uint8_t* out) const;
    void write(int32_t slot, const uint8_t* data);

  private:
    float* state(int32_t slot, int32_t layer) const { return data_.get() + (slot * num_layers_ + static_cast<size_t>(layer)) * layer_size_; }

    int32_t value_stride_;  // a head's value columns, padded with zeros
    size_t window_size_, matrix_size_, layer_size_;  // floats
    size_t num_layers_, num_slots_;
    PageArray<float> data_;
};

// Every thread takes whole heads through all rows of a piece, in order; so the number of threads changes no rounding.
class DeltaNetBlock {
  public:
    DeltaNetBlock(Runner& runner, const di_config& config, int32_t num_layers);

    // The linear layer that is `index`th of its kind on the source's rows, which `plain` describes; the output is
    // written to `out`, or added to it. A row of position 0 begins a sequence anew.
    void run(const Batch& batch, const Layer& layer, int32_t index, const Activations& source, const Input& plain,
             Activations& out, bool add);
    DeltaStates& states() { return states_; }
    const DeltaStates& states() const { return states_; }
    size_t workspace_bytes() const;

  private:
    void project(const DeltaNet& net, const Activations& source, const Input& plain);
    void convolve_heads(const Batch& batch, const DeltaNet& net, int32_t index, int32_t part);
    void convolve_head(const Batch& batch, const DeltaNet& net, int32_t index, int32_t channel, int32_t width, float length);
    void mix_head(const Batch& batch, const DeltaNet& net, int32_t index, int32_t head);

    Runner& runner_;
    di_delta_net config_;
    float eps_;
    int32_t num_channels_, key_size_;
    DeltaStates states_;
    Activations qkv_;     // [channels]: all queries, all keys, all values
    Activations z_;       // [value_size]: gates, then what goes into out_proj
    Activations b_, a_;   // [value heads]
    Activations mixed_;   // [value_size]
};

}  // namespace di

// The gated MLP of one layer.
#pragma once

#include "layer.h"
#include "runner.h"

namespace di {

class MlpBlock {
  public:
    MlpBlock(Runner& runner, const di_config& config);

    // down(silu(gate(x)) * up(x)) of the normed rows; adds its output to `hidden`.
    void run(int32_t rows, const Layer& layer, Activations& normed, Activations& hidden);
    size_t workspace_bytes() const { return gate_.num_bytes() + up_.num_bytes(); }

  private:
    Runner& runner_;
    Activations gate_, up_;
};

}  // namespace di

// The dense MLP of a layer, or its shared expert.
#pragma once

#include "layer.h"
#include "runner.h"

namespace di {

class MlpBlock {
  public:
    MlpBlock(Runner& runner, HiddenAct act, int32_t intermediate_size);

    // The MLP of the source's rows, which `plain` describes; the output is written to `out`, or added to it.
    void run(const Mlp& mlp, const Activations& source, const Input& plain, Activations& out, bool add);
    size_t workspace_bytes() const { return gate_.num_bytes() + up_.num_bytes(); }

  private:
    Runner& runner_;
    HiddenAct act_;
    Activations gate_, up_;  // without a gate, `gate_` holds what goes into down
};

}  // namespace di

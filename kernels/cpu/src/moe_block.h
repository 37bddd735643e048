// The mixture of experts of a sparse layer: only the weights of experts that were chosen are read.
#pragma once

#include <vector>

#include "layer.h"
#include "mlp_block.h"
#include "router.h"
#include "runner.h"

namespace di {

class MoeBlock {
  public:
    MoeBlock(Runner& runner, const di_config& config);

    // The weighted outputs of the chosen experts, plus the shared expert's, of the source's rows, to `out`.
    void run(const MixtureOfExperts& moe, const Activations& source, const Input& plain, Activations& out);
    size_t workspace_bytes() const;

  private:
    // Each choice of each row has a place, and the places of an expert are consecutive.
    struct Group {
        int32_t expert, first, rows;
        Input gate, up, down;
    };

    void route(const MixtureOfExperts& moe, const Input& plain);
    void group_by_expert();
    void set_inputs(const MixtureOfExperts& moe, const Activations& source, const Input& plain);
    void set_down_inputs(const MixtureOfExperts& moe);
    template <typename F>
    void gather(const MixtureOfExperts& moe, const Tiles* Mlp::* linear, Activations& target, F&& source_of);
    bool any_perm(const MixtureOfExperts& moe, const Tiles* Mlp::* linear) const;
    void run_gate_up(const MixtureOfExperts& moe, const Group& group, int32_t begin, int32_t end);
    void combine(Activations& out);
    void add_shared(const MixtureOfExperts& moe, const Activations& source, const Input& plain, Activations& out);
    template <typename F>
    void for_groups(int32_t num_tiles, F&& body);

    Runner& runner_;
    di_moe config_;
    HiddenAct act_;
    Router router_;
    MlpBlock shared_;
    int32_t num_rows_ = 0;
    std::vector<Choice> choices_;          // [row][num_experts_per_tok]
    std::vector<int32_t> places_;          // of the choices
    std::vector<int32_t> rows_, experts_;  // of the places
    std::vector<Group> groups_;
    Activations logits_, scores_;          // [row][num_experts]
    Activations gate_in_, up_in_, gate_, up_, down_in_;  // [place]
    Activations shared_out_;
    PageArray<float> expert_out_;          // [place][hidden_.stride]
    std::vector<float> shared_gates_;      // [row]
};

}  // namespace di

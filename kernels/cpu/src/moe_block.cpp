#include "moe_block.h"

#include <algorithm>

#include "rounded_math.h"

namespace di {
namespace {

constexpr int32_t kPrefillShares = 4;  // of an expert's tiles, since experts get unequal numbers of rows

int32_t num_places(const di_moe& moe) { return moe.num_experts > 0 ? kMaxStepRows * moe.num_experts_per_tok : 0; }

}  // namespace

MoeBlock::MoeBlock(Runner& runner, const di_config& config)
    : runner_(runner),
      config_(config.moe),
      act_(static_cast<HiddenAct>(config.hidden_act)),
      router_(config.moe),
      shared_(runner, act_, config.moe.shared_intermediate_size),
      choices_(static_cast<size_t>(num_places(config.moe))),
      places_(choices_.size()),
      rows_(choices_.size()),
      experts_(choices_.size()),
      logits_(config.moe.num_experts),
      scores_(config.moe.num_experts),
      gate_in_(config.hidden_size, num_places(config.moe)),
      up_in_(config.hidden_size, num_places(config.moe)),
      gate_(config.moe.intermediate_size, num_places(config.moe)),
      up_(config.moe.intermediate_size, num_places(config.moe)),
      down_in_(config.moe.intermediate_size, num_places(config.moe)),
      shared_out_(config.moe.shared_intermediate_size > 0 ? config.hidden_size : 0),
      expert_out_(page_array<float>(static_cast<size_t>(gate_in_.stride) * num_places(config.moe))),
      shared_gates_(kMaxStepRows) {}

size_t MoeBlock::workspace_bytes() const {
    size_t bytes = shared_.workspace_bytes() + static_cast<size_t>(gate_in_.stride) * gate_in_.max_rows * sizeof(float);
    for (const Activations* a : {&logits_, &scores_, &gate_in_, &up_in_, &gate_, &up_, &down_in_, &shared_out_}) {
        bytes += a->num_bytes();
    }
    return bytes;
}

void MoeBlock::run(const MixtureOfExperts& moe, const Activations& source, const Input& plain, Activations& out) {
    num_rows_ = plain.rows;
    route(moe, plain);
    group_by_expert();
    set_inputs(moe, source, plain);
    const Mlp& any = moe.experts.front();
    for_groups(any.up->num_tiles, [&](const Group& group, int32_t begin, int32_t end) { run_gate_up(moe, group, begin, end); });
    set_down_inputs(moe);
    for_groups(any.down->num_tiles, [&](const Group& group, int32_t begin, int32_t end) {
        float* y = expert_out_.get() + static_cast<size_t>(group.first) * gate_in_.stride;
        const Product down{moe.experts[static_cast<size_t>(group.expert)].down, &group.down, y, gate_in_.stride, nullptr};
        runner_.core.linear(down, begin, end);
    });
    combine(out);
    if (moe.shared.up) add_shared(moe, source, plain, out);
}

void MoeBlock::route(const MixtureOfExperts& moe, const Input& plain) {
    const Product product{moe.router, &plain, logits_.x.get(), logits_.stride, nullptr};
    runner_.run_products(&product, 1);
    runner_.pool.parallel_for(num_rows_, [&](int32_t r) {
        router_.choose(logits_.row(r), moe.correction, scores_.row(r), &choices_[static_cast<size_t>(r) * config_.num_experts_per_tok]);
    });
}

// A counting sort of the choices.
void MoeBlock::group_by_expert() {
    const int32_t num_choices = num_rows_ * config_.num_experts_per_tok;
    std::vector<int32_t> next(static_cast<size_t>(config_.num_experts) + 1);
    for (int32_t i = 0; i < num_choices; ++i) ++next[static_cast<size_t>(choices_[i].expert) + 1];
    groups_.clear();
    for (int32_t e = 0; e < config_.num_experts; ++e) {
        if (next[e + 1] > 0) groups_.push_back({e, next[e], next[e + 1], {}, {}, {}});
        next[e + 1] += next[e];
    }
    for (int32_t i = 0; i < num_choices; ++i) {
        const int32_t expert = choices_[i].expert, place = next[expert]++;
        places_[i] = place;
        rows_[place] = i / config_.num_experts_per_tok;
        experts_[place] = expert;
    }
}

bool MoeBlock::any_perm(const MixtureOfExperts& moe, const Tiles* Mlp::* linear) const {
    return std::any_of(groups_.begin(), groups_.end(), [&](const Group& group) {
        const Tiles* w = moe.experts[static_cast<size_t>(group.expert)].*linear;
        return w && w->perm;
    });
}

// Brings the rows that `source_of(place)` names into the order of the places and of the linears' columns.
template <typename F>
void MoeBlock::gather(const MixtureOfExperts& moe, const Tiles* Mlp::* linear, Activations& target, F&& source_of) {
    runner_.pool.parallel_for(num_rows_ * config_.num_experts_per_tok, [&](int32_t place) {
        const Tiles& w = *(moe.experts[static_cast<size_t>(experts_[place])].*linear);
        target.gather_row(w, source_of(place), place);
        target.prepare_row(runner_.core, place, w.padded_in, runner_.int8());
    });
}

// One row without permutation is read by all its experts where it lies.
void MoeBlock::set_inputs(const MixtureOfExperts& moe, const Activations& source, const Input& plain) {
    const bool has_gate = moe.experts.front().gate != nullptr;
    const bool gate_perm = any_perm(moe, &Mlp::gate), up_perm = any_perm(moe, &Mlp::up);
    const bool is_shared = num_rows_ == 1 && !gate_perm && !up_perm;
    const auto row_of = [&](int32_t place) { return source.row(rows_[place]); };
    if (!is_shared) gather(moe, &Mlp::up, up_in_, row_of);
    if (!is_shared && has_gate && gate_perm) gather(moe, &Mlp::gate, gate_in_, row_of);
    for (Group& group : groups_) {
        group.up = is_shared ? plain : up_in_.view(group.first, group.rows, runner_.int8());
        group.gate = gate_perm ? gate_in_.view(group.first, group.rows, runner_.int8()) : group.up;
    }
}

void MoeBlock::run_gate_up(const MixtureOfExperts& moe, const Group& group, int32_t begin, int32_t end) {
    const Core& core = runner_.core;
    const Mlp& expert = moe.experts[static_cast<size_t>(group.expert)];
    const Product up{expert.up, &group.up, up_.row(group.first), up_.stride, nullptr};
    const Product gate{expert.gate, &group.gate, gate_.row(group.first), gate_.stride, nullptr};
    core.linear(up, begin, end);
    if (expert.gate) core.linear(gate, begin, end);
    const int32_t at = begin * kTileRows, n = (end - begin) * kTileRows;
    for (int32_t place = group.first; place < group.first + group.rows; ++place) {
        float *g = gate_.row(place) + at, *u = up_.row(place) + at;
        if (config_.clamped_swiglu) {
            core.clamped_swiglu(g, u, config_.swiglu_limit, config_.swiglu_alpha, n);
        } else {
            core.activate(act_, expert.gate ? g : u, expert.gate ? u : nullptr, n);
        }
    }
}

void MoeBlock::set_down_inputs(const MixtureOfExperts& moe) {
    Activations& plain = moe.experts.front().gate ? gate_ : up_;
    const bool has_perm = any_perm(moe, &Mlp::down);
    Activations& source = has_perm ? down_in_ : plain;
    if (has_perm) {
        gather(moe, &Mlp::down, down_in_, [&](int32_t place) { return plain.row(place); });
    } else {
        runner_.pool.parallel_for(num_rows_ * config_.num_experts_per_tok, [&](int32_t place) {
            plain.prepare_row(runner_.core, place, plain.stride, runner_.int8());
        });
    }
    for (Group& group : groups_) group.down = source.view(group.first, group.rows, runner_.int8());
}

// Each row's experts in the order of their weights, whatever thread computed them.
void MoeBlock::combine(Activations& out) {
    runner_.pool.parallel_for(num_rows_, [&](int32_t r) {
        std::fill(out.row(r), out.row(r) + out.width, 0.0f);
        for (int32_t i = r * config_.num_experts_per_tok; i < (r + 1) * config_.num_experts_per_tok; ++i) {
            const float* y = expert_out_.get() + static_cast<size_t>(places_[i]) * gate_in_.stride;
            runner_.core.add_scaled(out.row(r), y, choices_[i].weight, out.width);
        }
    });
}

void MoeBlock::add_shared(const MixtureOfExperts& moe, const Activations& source, const Input& plain, Activations& out) {
    if (!moe.shared_gate) return shared_.run(moe.shared, source, plain, out, true);
    shared_.run(moe.shared, source, plain, shared_out_, false);
    const Product gate{moe.shared_gate, &plain, shared_gates_.data(), 1, nullptr};
    runner_.run_products(&gate, 1);
    runner_.pool.parallel_for(num_rows_, [&](int32_t r) {
        const float weight = 1.0f / (1.0f + rounded_exp(-shared_gates_[r]));
        runner_.core.add_scaled(out.row(r), shared_out_.row(r), weight, out.width);
    });
}

// All experts that were chosen in one loop; `body(group, begin, end)` takes a share of the group's tiles.
template <typename F>
void MoeBlock::for_groups(int32_t num_tiles, F&& body) {
    const int32_t num_groups = static_cast<int32_t>(groups_.size()), num_threads = runner_.pool.num_threads();
    const int32_t wanted = num_threads == 1 ? 1 : (num_threads * kTasksPerThread + num_groups - 1) / num_groups;
    const int32_t shares = std::min(num_tiles, num_rows_ == 1 || num_threads == 1 ? wanted : std::max(wanted, kPrefillShares));
    runner_.pool.parallel_for(num_groups * shares, [&](int32_t task) {
        const int32_t share = task % shares;
        body(groups_[task / shares], num_tiles * share / shares, num_tiles * (share + 1) / shares);
    });
}

}  // namespace di

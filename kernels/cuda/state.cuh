// What a sequence carries from one decode step to the next, in device memory, so that a graph is replayed once per
// token and nothing is uploaded; kernels/cuda/sampling.py has the same structures.
#pragma once

#include "common.cuh"

constexpr int kMaxRows = 8, kRingEntries = 64;

// One row of the batch. The host writes it when the row begins; from then on a step's last kernel advances it.
struct RowState {
    u64 seed, step;                                             // step: how many tokens the sampler has drawn
    double temperature, inverse_temperature, top_p;             // inverses: 1 / x, rounded once
    double repetition_penalty, inverse_repetition_penalty, presence_penalty, frequency_penalty;
    u64 least_weight;  // of a token that min-p keeps; at least 1
    u32 sequence;      // of the next entry of the ring
    int top_k;         // 0: off
    int counts_tokens;  // whether is_seen and num_output follow what this row draws
    int unused;
};

struct StepState {
    RowState* rows;
    int* token_ids;  // [rows], as the first kernel reads them
    int* positions;
    const int* slots;
    u8* is_seen;      // [slots][vocab_size]: in the prompt or the output
    int* num_output;  // [slots][vocab_size]: how often in the output
    u64* ring;        // memory of the host, [kRingEntries][kMaxRows]: sequence * 2^32 + token id
    int vocab_size;
};

__device__ __forceinline__ size_t penalty_index(const StepState& state, int row) {
    return static_cast<size_t>(state.slots[row]) * state.vocab_size;
}

// The row's token, -1 where its logits were not finite: makes it the next step's input and tells the host. Sequence and
// token are one store of eight bytes, so that the host sees both or neither.
__device__ void finish_row(const StepState& state, int row, int token) {
    RowState& s = state.rows[row];
    const u32 sequence = s.sequence;
    const int next = max(token, 0);
    state.token_ids[row] = next;
    state.positions[row] += 1;
    s.step += 1;
    s.sequence = sequence + 1;
    if (s.counts_tokens) {
        const size_t at = penalty_index(state, row) + next;
        state.is_seen[at] = 1;
        state.num_output[at] += 1;
    }
    __threadfence_system();
    volatile u64* entry = state.ring + sequence % kRingEntries * kMaxRows + row;
    *entry = static_cast<u64>(sequence) << 32 | static_cast<u32>(token);
}

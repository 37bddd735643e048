// Which experts each token takes and with what weights, and then the other way round: for each expert that anybody takes
// the pairs of token and place that take it, eight at most a visit, so that gemv.cu reads its matrices once for them.
// Kernels of their own: in one, with the last block choosing, every shuffle was a call, since the compiler saw no whole
// warps.
#include "norms.cuh"

constexpr int kWarps = 8, kThreads = kWarps * kWarp;
constexpr int kMaxTokens = 8, kMaxChosen = 32;  // of a visit; experts of a token, and groups: one a lane
constexpr int kMaxExperts = 512;                // of list_chunk_visits: one a thread

enum WeightType { kFloat32, kFloat16, kBfloat16 };
enum Scoring { kSoftmax, kSoftmaxTopk, kEachSigmoid };  // as RouterScoring of app/spec/moe_spec.py
enum GroupScoring { kBest, kTwoBest };

struct RouterArgs {
    const float* x;  // [tokens][hidden_size], before the norm
    const float* norm_weight;
    const float* norm_bias;   // or null
    const void* weight;       // [num_experts + has_shared_gate][hidden_size]
    const float* bias;        // [num_experts] or null
    const float* correction;  // [num_experts] or null: added to scores for choosing only
    float* logits;            // [tokens][num_experts + has_shared_gate]
    int* visit_matrices;      // [max_visits]: an expert, -1 behind the last
    int* visit_pairs;         // [max_visits][8]: token * top_k + place, -1 behind the last
    int* chosen;              // [tokens][top_k]; null for at most eight tokens
    float* pair_weights;      // [tokens][top_k]
    float* shared_weights;    // [tokens]: what the shared expert's output is multiplied with; or null
    int num_tokens, hidden_size, num_experts, has_shared_gate, top_k, max_visits;
    int input;  // kFloats or one of the norms
    int weight_type, scoring, is_normed, num_groups, topk_groups, group_scoring;
    float eps, scaling_factor;
};

// The token as the router sees it, in shared memory.
__device__ void stage_token(const RouterArgs& args, const float* x, float* staged, float* scratch) {
    Deviation deviation = {0.0f, 1.0f};
    if (args.input != kFloats) {
        deviation = measure<kThreads>(x, args.hidden_size, args.input == kLayerNorm, args.eps, scratch);
    }
    for (int i = threadIdx.x; i < args.hidden_size; i += kThreads) {
        staged[i] = args.input == kFloats ? x[i] : normed(x[i], deviation, args.norm_weight, args.norm_bias, i);
    }
    __syncthreads();
}

__device__ __forceinline__ float weight_at(const RouterArgs& args, size_t at) {
    if (args.weight_type == kFloat32) return static_cast<const float*>(args.weight)[at];
    const unsigned short bits = static_cast<const unsigned short*>(args.weight)[at];
    return args.weight_type == kFloat16 ? __half2float(__ushort_as_half(bits)) : __uint_as_float(u32(bits) << 16);
}

__device__ void score_rows(const RouterArgs& args, const float* x) {
    const int lane = threadIdx.x % kWarp, num_rows = args.num_experts + args.has_shared_gate;
    const int wanted = blockIdx.x * kWarps + threadIdx.x / kWarp, row = min(wanted, num_rows - 1);
    float sum = 0.0f;
    for (int i = lane; i < args.hidden_size; i += kWarp) {
        sum = fmaf(weight_at(args, static_cast<size_t>(row) * args.hidden_size + i), x[i], sum);
    }
    sum = warp_sum(sum);
    if (args.bias && row < args.num_experts) sum += args.bias[row];
    if (lane == 0 && row == wanted) args.logits[blockIdx.y * num_rows + row] = sum;
}

// From a token's logits to scores, by one warp.
__device__ void to_scores(const RouterArgs& args, const float* logits, float* scores) {
    const int lane = threadIdx.x % kWarp;
    float greatest = -3.0e38f, sum = 0.0f;
    for (int i = lane; i < args.num_experts; i += kWarp) greatest = fmaxf(greatest, logits[i]);
    greatest = warp_max(greatest);
    for (int i = lane; i < args.num_experts; i += kWarp) sum += expf(logits[i] - greatest);
    sum = warp_sum(sum);
    for (int i = lane; i < args.num_experts; i += kWarp) {
        float v = logits[i];
        if (args.scoring == kSoftmax) v = __fdividef(expf(v - greatest), sum);
        if (args.scoring == kEachSigmoid) v = __fdividef(1.0f, 1.0f + expf(-v));
        scores[i] = v;
    }
    __syncwarp();
}

// Experts outside the best groups get -infinity. A lane a group; of equal groups the first.
__device__ void limit_to_groups(const RouterArgs& args, float* choice) {
    const int lane = threadIdx.x % kWarp, size = args.num_experts / args.num_groups;
    const float nothing = __uint_as_float(0xff800000u);
    float best = nothing, second = nothing;
    if (lane < args.num_groups) {
        for (int i = lane * size; i < (lane + 1) * size; ++i) {
            second = fmaxf(second, fminf(best, choice[i]));
            best = fmaxf(best, choice[i]);
        }
    }
    const float mine = args.group_scoring == kTwoBest && size > 1 ? best + second : best;
    int rank = 0;
    for (int other = 0; other < args.num_groups; ++other) {
        const float theirs = __shfl_sync(kAllLanes, mine, other);
        rank += theirs > mine || (theirs == mine && other < lane);
    }
    const u32 allowed = __ballot_sync(kAllLanes, rank < args.topk_groups);
    __syncwarp();  // until all have seen their groups; a ballot orders no memory
    for (int i = lane; i < args.num_experts; i += kWarp) {
        if (!(allowed >> i / size & 1)) choice[i] = nothing;
    }
    __syncwarp();
}

// The best expert that is left and, of equal ones, the first; what was taken holds NaN, which is never better.
__device__ int take_best(const RouterArgs& args, float* choice, int place) {
    const int lane = threadIdx.x % kWarp;
    float best = __uint_as_float(0xff800000u);
    int where = args.num_experts;
    for (int i = lane; i < args.num_experts; i += kWarp) {
        if (choice[i] > best || (choice[i] == best && i < where)) {
            best = choice[i];
            where = i;
        }
    }
#pragma unroll
    for (int distance = kWarp / 2; distance; distance /= 2) {
        const float other = __shfl_xor_sync(kAllLanes, best, distance);
        const int there = __shfl_xor_sync(kAllLanes, where, distance);
        if (other > best || (other == best && there < where)) {
            best = other;
            where = there;
        }
    }
    if (where == args.num_experts) where = place;  // no number is left: any, and the weights are no numbers either
    __syncwarp();
    if (lane == 0) choice[where] = __uint_as_float(0x7fffffffu);
    __syncwarp();
    return where;
}

// Chooses for one token, by one warp: experts in order of their scores. Warps without a token repeat the last one's.
__device__ void choose(const RouterArgs& args, float* scores, float* choice, int* chosen) {
    const int lane = threadIdx.x % kWarp, num_rows = args.num_experts + args.has_shared_gate;
    const int wanted = blockIdx.x * kWarps + threadIdx.x / kWarp, token = min(wanted, args.num_tokens - 1);
    const float* logits = args.logits + token * num_rows;
    to_scores(args, logits, scores);
    for (int i = lane; i < args.num_experts; i += kWarp) {
        choice[i] = scores[i] + (args.correction ? args.correction[i] : 0.0f);
    }
    __syncwarp();
    if (args.num_groups > 1) limit_to_groups(args, choice);
    int mine = 0;
    for (int place = 0; place < args.top_k; ++place) {
        const int expert = take_best(args, choice, place);
        if (lane == place) mine = expert;
    }
    float weight = scores[mine];
    if (args.scoring == kSoftmaxTopk) {
        const float greatest = __shfl_sync(kAllLanes, weight, 0);
        weight = expf(weight - greatest);
    }
    const float sum = warp_sum(lane < args.top_k ? weight : 0.0f);
    if (args.scoring == kSoftmaxTopk) weight = __fdividef(weight, sum);
    if (args.is_normed) weight = __fdividef(weight, args.scoring == kSoftmaxTopk ? 1.0f : sum + 1e-20f);
    if (token != wanted) return;
    if (lane < args.top_k) {
        chosen[token * args.top_k + lane] = mine;
        args.pair_weights[token * args.top_k + lane] = weight * args.scaling_factor;
    }
    if (lane == 0 && args.shared_weights) {
        const float gate = args.has_shared_gate ? logits[args.num_experts] : 0.0f;
        args.shared_weights[token] = args.has_shared_gate ? __fdividef(1.0f, 1.0f + expf(-gate)) : 1.0f;
    }
}

// One thread a pair. The first pair with an expert leads its visit; visits stand in the order of their leaders.
__device__ void list_visits(const RouterArgs& args, const int* chosen, int* leads) {
    const int pair = threadIdx.x, num_pairs = args.num_tokens * args.top_k;
    if (pair < num_pairs) {
        leads[pair] = 1;
        for (int other = 0; other < pair; ++other) {
            if (chosen[other] == chosen[pair]) leads[pair] = 0;
        }
    }
    __syncthreads();
    int before = 0, total = 0;
    for (int other = 0; other < num_pairs; ++other) {
        before += other < pair ? leads[other] : 0;
        total += leads[other];
    }
    for (int visit = total + pair; visit < args.max_visits; visit += kThreads) args.visit_matrices[visit] = -1;
    if (pair >= num_pairs || !leads[pair]) return;
    args.visit_matrices[before] = chosen[pair];
    int* pairs = args.visit_pairs + before * kMaxTokens;
    int count = 0;
    for (int other = pair; other < num_pairs && count < kMaxTokens; ++other) {
        if (chosen[other] == chosen[pair]) pairs[count++] = other;
    }
    for (; count < kMaxTokens; ++count) pairs[count] = -1;
}

// Grid (blocks of eight rows of the router, tokens).
extern "C" __global__ void __launch_bounds__(kThreads) score_experts(const RouterArgs args) {
    DYNAMIC_SHARED(float, token);
    __shared__ float scratch[kWarps];
    stage_token(args, args.x + static_cast<size_t>(blockIdx.y) * args.hidden_size, token, scratch);
    score_rows(args, token);
}

// One block, a warp a token.
extern "C" __global__ void __launch_bounds__(kThreads) choose_experts(const RouterArgs args) {
    DYNAMIC_SHARED(float, values);  // scores and choices of each warp
    __shared__ int chosen[kMaxTokens * kMaxChosen], leads[kMaxTokens * kMaxChosen];
    float* scores = values + 2 * (threadIdx.x / kWarp) * args.num_experts;
    choose(args, scores, scores + args.num_experts, chosen);
    __syncthreads();
    list_visits(args, chosen, leads);
}

// Likewise for a chunk: grid (blocks of eight tokens). The visits are listed by the next kernel.
extern "C" __global__ void __launch_bounds__(kThreads) choose_for_chunk(const RouterArgs args) {
    DYNAMIC_SHARED(float, values);
    float* scores = values + 2 * (threadIdx.x / kWarp) * args.num_experts;
    choose(args, scores, scores + args.num_experts, args.chosen);
}

// One block, a thread an expert: its pairs, in order, fill as many visits as they need. Visits stand in order of experts.
extern "C" __global__ void __launch_bounds__(kMaxExperts) list_chunk_visits(const RouterArgs args) {
    __shared__ int ends[kMaxExperts];
    const int expert = threadIdx.x, num_pairs = args.num_tokens * args.top_k;
    int count = 0;
    for (int pair = 0; pair < num_pairs; ++pair) count += args.chosen[pair] == expert;
    const int mine = (count + kMaxTokens - 1) / kMaxTokens;
    ends[expert] = mine;
    __syncthreads();
    for (int distance = 1; distance < kMaxExperts; distance *= 2) {
        const int before = expert >= distance ? ends[expert - distance] : 0;
        __syncthreads();
        ends[expert] += before;
        __syncthreads();
    }
    const int first = ends[expert] - mine;
    for (int visit = 0; visit < mine; ++visit) args.visit_matrices[first + visit] = expert;
    int* pairs = args.visit_pairs + first * kMaxTokens;
    for (int pair = 0; pair < num_pairs; ++pair) {
        if (args.chosen[pair] == expert) *pairs++ = pair;
    }
    for (int i = count; i < mine * kMaxTokens; ++i) *pairs++ = -1;
    for (int visit = ends[kMaxExperts - 1] + expert; visit < args.max_visits; visit += kMaxExperts) {
        args.visit_matrices[visit] = -1;
    }
}

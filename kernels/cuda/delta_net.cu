// Gated delta net between its projections, token by token (app/engine/executors/reference/delta_net.py has the formulas):
// a convolution over each channel's last inputs, then per value head the delta rule, its norm and its gate. What is known
// of the past is moved on in place, so that rows of one slot stand together in the order of their positions, and the
// first of them does the work of all. A row at its predecessor's position repeats it: padding, which changes nothing. A
// row at position 0 begins anew. Macros: KEY_DIM, VALUE_DIM, CONV_KERNEL.
#include "common.cuh"

constexpr int kConvThreads = 128, kPast = CONV_KERNEL - 1;
// Four lanes hold a column of the state between them: in turns, four of its rows each.
constexpr int kParts = 4, kTurns = (KEY_DIM + 4 * kParts - 1) / (4 * kParts), kRows = 4 * kTurns;
constexpr int kThreads = (VALUE_DIM * kParts + kWarp - 1) / kWarp * kWarp;
constexpr float kUnitEps = 1e-6f;

struct DeltaArgs {
    const float* x;  // [rows][x_stride]: queries, keys and values; gates of the output; then of each value head beta and
                     // decay, both before their functions
    float* mixed;    // [rows][channels]: what the convolution makes of queries, keys and values
    half* out;       // [rows][num_value_heads][VALUE_DIM]
    const float* conv;         // [CONV_KERNEL][channels], the last one for the newest token
    const float* decay_rates;  // [num_value_heads]
    const float* dt_bias;      // [num_value_heads]
    const float* norm_weight;  // [VALUE_DIM]
    float* windows;            // [slots][CONV_KERNEL - 1][channels], the oldest first
    float* states;             // [slots][num_value_heads][KEY_DIM][VALUE_DIM]
    const int* slots;          // [rows]
    const int* positions;      // [rows]
    int num_rows, x_stride, num_key_heads, num_value_heads;
    float eps;
};

__device__ __forceinline__ int key_size(const DeltaArgs& args) { return args.num_key_heads * KEY_DIM; }
__device__ __forceinline__ int value_size(const DeltaArgs& args) { return args.num_value_heads * VALUE_DIM; }
__device__ __forceinline__ int num_channels(const DeltaArgs& args) { return 2 * key_size(args) + value_size(args); }

// Whether a row is the first of its slot, and where its slot's rows end.
__device__ __forceinline__ bool leads(const DeltaArgs& args, int row) {
    return row == 0 || args.slots[row - 1] != args.slots[row];
}

__device__ __forceinline__ bool follows(const DeltaArgs& args, int row, int first) {
    return row < args.num_rows && args.slots[row] == args.slots[first];
}

__device__ __forceinline__ bool repeats(const DeltaArgs& args, int row, int first) {
    return row > first && args.positions[row] == args.positions[row - 1];
}

// Grid (blocks of channels, rows).
extern "C" __global__ void __launch_bounds__(kConvThreads) convolve(const DeltaArgs args) {
    const int channels = num_channels(args), channel = blockIdx.x * kConvThreads + threadIdx.x, first = blockIdx.y;
    if (channel >= channels || !leads(args, first)) return;
    float* window = args.windows + static_cast<size_t>(args.slots[first]) * kPast * channels + channel;
    float past[kPast], weight[CONV_KERNEL], v = 0.0f;
#pragma unroll
    for (int i = 0; i < kPast; ++i) past[i] = window[i * channels];
#pragma unroll
    for (int i = 0; i < CONV_KERNEL; ++i) weight[i] = args.conv[i * channels + channel];
    for (int row = first; follows(args, row, first); ++row) {
        if (!repeats(args, row, first)) {
            const float newest = args.x[static_cast<size_t>(row) * args.x_stride + channel];
            const bool begins = args.positions[row] == 0;
            float sum = weight[kPast] * newest;
#pragma unroll
            for (int i = 0; i < kPast; ++i) sum = fmaf(weight[i], begins ? 0.0f : past[i], sum);
#pragma unroll
            for (int i = 0; i < kPast; ++i) past[i] = i + 1 == kPast ? newest : begins ? 0.0f : past[i + 1];
            v = __fdividef(sum, 1.0f + __expf(-sum));
        }
        args.mixed[static_cast<size_t>(row) * channels + channel] = v;
    }
#pragma unroll
    for (int i = 0; i < kPast; ++i) window[i * channels] = past[i];
}

// A token's query and key of this head, as they are, and what makes them of length 1; 0 beyond KEY_DIM.
struct Pair {
    __align__(16) float query[kRows * kParts], key[kRows * kParts];
    float squares[2][kThreads / kWarp];
};

__device__ __forceinline__ float2 stage_pair(const DeltaArgs& args, const float* mixed, int key_head, Pair& pair) {
    float squares[2] = {0.0f, 0.0f};
    for (int i = threadIdx.x; i < kRows * kParts; i += kThreads) {
        const float* at = mixed + key_head * KEY_DIM + i;
        const float query = i < KEY_DIM ? at[0] : 0.0f, key = i < KEY_DIM ? at[key_size(args)] : 0.0f;
        pair.query[i] = query;
        pair.key[i] = key;
        squares[0] = fmaf(query, query, squares[0]);
        squares[1] = fmaf(key, key, squares[1]);
    }
#pragma unroll
    for (int which = 0; which < 2; ++which) {
        squares[which] = warp_sum(squares[which]);
        if (threadIdx.x % kWarp == 0) pair.squares[which][threadIdx.x / kWarp] = squares[which];
    }
    __syncthreads();
    float2 total = make_float2(kUnitEps, kUnitEps);
    for (int warp = 0; warp < kThreads / kWarp; ++warp) {
        total.x += pair.squares[0][warp];
        total.y += pair.squares[1][warp];
    }
    return make_float2(rsqrtf(total.x * KEY_DIM), rsqrtf(total.y));
}

// The row of the state, and of keys, that is this lane's n-th.
__device__ __forceinline__ int state_row(int n) {
    return (n / 4 * kParts + static_cast<int>(threadIdx.x) % kParts) * 4 + n % 4;
}

__device__ __forceinline__ float column_sum(float v) {
    v += __shfl_xor_sync(kAllLanes, v, 1);
    return v + __shfl_xor_sync(kAllLanes, v, 2);
}

// One token for this thread's part of a column: decay, correction, answer.
__device__ __forceinline__ float advance(float (&state)[kRows], const Pair& pair, float2 units, float value,
                                         float decay, float beta) {
    float known = 0.0f, answer = 0.0f;
#pragma unroll
    for (int i = 0; i < kRows; i += 4) {
        const float4 key = *reinterpret_cast<const float4*>(pair.key + state_row(i));
        const float four[4] = {key.x, key.y, key.z, key.w};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            state[i + j] *= decay;
            known = fmaf(state[i + j], four[j], known);
        }
    }
    const float correction = (value - column_sum(known) * units.y) * beta * units.y;
#pragma unroll
    for (int i = 0; i < kRows; i += 4) {
        const float4 key = *reinterpret_cast<const float4*>(pair.key + state_row(i));
        const float4 query = *reinterpret_cast<const float4*>(pair.query + state_row(i));
        const float keys[4] = {key.x, key.y, key.z, key.w}, queries[4] = {query.x, query.y, query.z, query.w};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            state[i + j] = fmaf(keys[j], correction, state[i + j]);
            answer = fmaf(state[i + j], queries[j], answer);
        }
    }
    return column_sum(answer) * units.x;
}

__device__ __forceinline__ float softplus(float x) { return x > 20.0f ? x : log1pf(expf(x)); }

// Grid (value heads, rows).
extern "C" __global__ void __launch_bounds__(kThreads, 1) apply_delta_rule(const DeltaArgs args) {
    __shared__ Pair pair;
    __shared__ float scratch[kThreads / kWarp];
    const int head = blockIdx.x, first = blockIdx.y, wanted = threadIdx.x / kParts, column = min(wanted, VALUE_DIM - 1);
    if (!leads(args, first)) return;
    const bool is_first_part = wanted == column && threadIdx.x % kParts == 0;
    const int key_head = head / (args.num_value_heads / args.num_key_heads), channels = num_channels(args);
    const size_t at = static_cast<size_t>(args.slots[first]) * args.num_value_heads + head;
    float* stored = args.states + at * KEY_DIM * VALUE_DIM + column;
    float state[kRows];
    const bool goes_on = args.positions[first] > 0;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
        state[i] = goes_on && state_row(i) < KEY_DIM ? stored[state_row(i) * VALUE_DIM] : 0.0f;
    }
    for (int row = first; follows(args, row, first); ++row) {
        const float* mixed = args.mixed + static_cast<size_t>(row) * channels;
        const float* x = args.x + static_cast<size_t>(row) * args.x_stride + channels;
        const float* gates = x + value_size(args) + head;
        // All have used the token before: the barrier of its norm lies between.
        const float2 units = stage_pair(args, mixed, key_head, pair);
        float beta = __fdividef(1.0f, 1.0f + expf(-gates[0]));
        float decay = expf(-args.decay_rates[head] * softplus(gates[args.num_value_heads] + args.dt_bias[head]));
        if (args.positions[row] == 0) decay = 0.0f;
        if (repeats(args, row, first)) {  // without a branch around the shuffles: it says the same again
            decay = 1.0f;
            beta = 0.0f;
        }
        const float value = mixed[2 * key_size(args) + head * VALUE_DIM + column];
        const float answer = advance(state, pair, units, value, decay, beta);
        const float square = __fdividef(block_sum(is_first_part ? answer * answer : 0.0f, scratch), VALUE_DIM);
        const float gate = x[head * VALUE_DIM + column];
        const float normed = answer * rsqrtf(square + args.eps) * args.norm_weight[column];
        half* out = args.out + static_cast<size_t>(row) * value_size(args) + head * VALUE_DIM;
        if (is_first_part) out[column] = __float2half_rn(normed * __fdividef(gate, 1.0f + __expf(-gate)));
    }
    if (wanted != column) return;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
        if (state_row(i) < KEY_DIM) stored[state_row(i) * VALUE_DIM] = state[i];
    }
}

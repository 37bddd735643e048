#include "layer.h"

namespace di {

const Tiles& checked(const di_linear* linear, int32_t out, int32_t in, const char* name) {
    require(linear != nullptr, std::string(name) + " is missing");
    const Tiles& w = linear->packed.tiles();
    require(w.out_features == out && w.in_features == in, std::string(name) + " has the wrong shape");
    return w;
}

Layer make_layer(const di_layer& source, const di_config& c) {
    const int32_t q_size = c.num_heads * c.head_dim, kv_size = c.num_kv_heads * c.head_dim;
    require(source.input_norm && source.post_attention_norm, "a norm is missing");
    Layer layer;
    layer.q = &checked(source.q, q_size, c.hidden_size, "q_proj");
    layer.k = &checked(source.k, kv_size, c.hidden_size, "k_proj");
    layer.v = &checked(source.v, kv_size, c.hidden_size, "v_proj");
    layer.o = &checked(source.o, c.hidden_size, q_size, "o_proj");
    layer.gate = &checked(source.gate, c.intermediate_size, c.hidden_size, "gate_proj");
    layer.up = &checked(source.up, c.intermediate_size, c.hidden_size, "up_proj");
    layer.down = &checked(source.down, c.hidden_size, c.intermediate_size, "down_proj");
    layer.input_norm = copied(source.input_norm, c.hidden_size);
    layer.post_attention_norm = copied(source.post_attention_norm, c.hidden_size);
    layer.q_norm = copied(source.q_norm, c.head_dim);
    layer.k_norm = copied(source.k_norm, c.head_dim);
    layer.sliding_window = source.sliding_window;
    return layer;
}

bool Layer::has_perm() const {
    return q->perm || k->perm || v->perm || o->perm || gate->perm || up->perm || down->perm;
}

}  // namespace di

// What AVX-VNNI changes of the core for AVX2: products with int8 activations. All else is that core's, compiled once.
#include "core.h"

#include "core_math.h"
#include "core_decode.h"
#include "core_int8.h"

namespace di {
namespace {

void linear_vnni(const Product& p, int32_t tile_begin, int32_t tile_end) {
    if (p.input->codes && !is_dense(p.w->codes)) return linear_int8(p, tile_begin, tile_end);
    core_avx2().linear(p, tile_begin, tile_end);
}

Core with_vnni(Core core) {
    core.name = DI_NAME;
    core.linear = linear_vnni;
    return core;
}

}  // namespace

const Core& DI_CORE() {
    static const Core core = with_vnni(core_avx2());
    return core;
}

}  // namespace di

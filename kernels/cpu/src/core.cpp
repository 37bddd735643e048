// Compiled once per instruction set (DI_ISA names the table, flags choose the backend).
//
// Everything here has internal linkage and nothing from the standard library's templates is used: an inline function
// shared between objects built with different flags could be linked in its AVX-512 form and run on a machine without.
#include "core.h"

#include "core_math.h"
#include "core_activation.h"
#include "core_decode.h"
#include "core_affine.h"
#include "core_int8.h"
#include "core_linear.h"
#include "core_transposed.h"
#include "core_pack.h"
#include "core_read.h"
#include "core_attention.h"
#include "core_delta.h"
#include "core_search.h"
#include "core_blocks.h"

namespace di {

const Core& DI_CORE() {
    static const Core core = {DI_NAME, linear, decode_row, pack_rows, add_transposed, read_blocks, quantize, column_sums, rms_norm,
                              layer_norm, activate, clamped_swiglu, mul_sigmoid, rotate, scale, add_scaled, softcap,
                              attend_page, merge_page, finish_attention, convolve, normalize_length, delta_step,
                              search_scales, round_to_grid, unpack_blocks};
    return core;
}

}  // namespace di

"""gpt-oss folders: experts in MXFP4, `.blocks` and `.scales` of each (see stacked_experts).

transformers:integrations/mxfp4.py. A block is 16 bytes for 32 columns, the low nibble first; its
scale is one e8m0 byte. Everything else is bfloat16.
"""

from __future__ import annotations

import numpy as np

from app.converter.sources.base import SourceLinear
from app.converter.sources.claims import TensorClaims
from app.converter.sources.fp4 import MXFP4_GROUP, Fp4Arrays, open_fp4
from app.converter.sources.hf_folder import StoredArray
from app.converter.sources.linear_format import Declaration, Folder, LinearFormat, LinearPlace
from app.core.errors import InvalidSourceError

_BLOCK_BYTES = MXFP4_GROUP // 2


class Mxfp4Format(LinearFormat):
    """uint8 `.blocks` [out, in / 32, 16] and `.scales` [out, in / 32]."""

    name = "mxfp4"

    def __init__(self, declaration: Declaration, folder: Folder) -> None:
        """`modules_to_not_convert` says nothing that the tensors do not."""

    def is_stored(self, stem: str, tensors: TensorClaims[StoredArray]) -> bool:
        return f"{stem}.blocks" in tensors

    def open_linear(
        self, place: LinearPlace, tensors: TensorClaims[StoredArray]
    ) -> SourceLinear | None:
        groups = (place.shape[0], -(-place.shape[1] // MXFP4_GROUP))
        blocks = tensors.take(f"{place.stem}.blocks", (*groups, _BLOCK_BYTES))
        scales = tensors.take(f"{place.stem}.scales", groups)
        if blocks is None or scales is None:
            return None
        if blocks.dtype != np.uint8 or place.shape[1] % MXFP4_GROUP:
            raise InvalidSourceError(
                "{blocks} is {dtype} for {num_columns} columns; MXFP4 blocks are uint8, for "
                "{group} columns each.",
                blocks=blocks.name,
                dtype=blocks.dtype,
                num_columns=place.shape[1],
                group=MXFP4_GROUP,
            )
        return open_fp4(place, "MXFP4", Fp4Arrays(blocks, scales, MXFP4_GROUP))

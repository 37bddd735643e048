"""The ggml element types: ids, names and block sizes.

Source: ggml-org/llama.cpp:ggml/include/ggml.h and ggml/src/ggml-common.h.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.core.errors import UnsupportedError
from app.core.sentence import Sentence


@dataclass(frozen=True, slots=True)
class GgmlType:
    """`block_size` elements are stored in `block_bytes` bytes."""

    type_id: int
    name: str
    block_size: int
    block_bytes: int

    def num_bytes(self, num_elements: int) -> int:
        """Bytes of `num_elements` elements, a multiple of the block size."""
        return num_elements // self.block_size * self.block_bytes


_ROWS = (
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (9, "Q8_1", 32, 40),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
    (40, "NVFP4", 64, 36),
    (41, "Q1_0", 128, 18),
    (42, "Q2_0", 64, 18),
)

GGML_TYPES = {row[0]: GgmlType(*row) for row in _ROWS}

# Ids that ggml gave out and took back; forks have reused some, so a name would be a guess.
REMOVED_TYPE_IDS = frozenset({4, 5, 31, 32, 33, 36, 37, 38})


def find_ggml_type(type_id: int, *, file: str, tensor: str) -> GgmlType:
    """The type of this id; UnsupportedError names the file, the tensor and the id otherwise."""
    if type_id in GGML_TYPES:
        return GGML_TYPES[type_id]
    is_removed = type_id in REMOVED_TYPE_IDS
    raise UnsupportedError(
        "{file}: tensor {tensor!r} has {kind} ggml type id {type_id}.",
        file=file,
        tensor=tensor,
        kind=Sentence("the removed") if is_removed else Sentence("an unknown"),
        type_id=type_id,
    )
